/** Servers with pull requests: finds the one that hosts a repository, and calls its API. */
import type { PullRequestPlace, PullRequestState } from '@acp/core';
import { createValidator } from '@acp/contract';
import {
  type Answer,
  type Config,
  createGuardedFetch,
  exchange,
  AnswerTooLarge,
  ExchangeFailure,
  type HostList,
  parseRepositoryUrl,
} from '@acp/kernel';
import { type TSchema, type Static, Type } from 'typebox';
import { GitError } from './git.ts';

export type HostConfig = Pick<Config, 'repository_apis' | 'repository_egress' | 'repository_hosts'>;

export interface NewPullRequest {
  title: string;
  body: string;
  branch: string;
  base: string;
  draft: boolean;
}

/** The secret, and the company's list of allowed hosts. */
export interface HostAccess {
  secret: string | null;
  list: HostList | null;
}

export type MergeMethod = 'merge' | 'squash' | 'rebase';

/** Each method throws GitError, worded for the user. */
export interface GitHost {
  place: PullRequestPlace;
  /** Finds the branch's open pull request. */
  find(branch: string, signal: AbortSignal): Promise<PullRequestState | undefined>;
  open(wanted: NewPullRequest, signal: AbortSignal): Promise<PullRequestState>;
  look(number: number, signal: AbortSignal): Promise<PullRequestState>;
  /** Merges exactly that commit. */
  merge(number: number, commit: string, method: MergeMethod, signal: AbortSignal): Promise<void>;
}

const known: Record<string, { provider: string; api_url: string }> = {
  'github.com': { provider: 'github', api_url: 'https://api.github.com' },
  'gitlab.com': { provider: 'gitlab', api_url: 'https://gitlab.com/api/v4' },
};

/** Undefined for a server that is not known to have pull requests. */
export function placeOfRepository(
  { repository_apis }: HostConfig,
  repo_url: string,
): PullRequestPlace | undefined {
  const remote = parseRepositoryUrl(repo_url);
  if (remote === undefined) return undefined;
  const { host, port, path } = remote;
  const names = [`${host}:${port}`, host];
  const given = repository_apis.map(readApi).find((api) => api !== undefined && names.includes(api.host));
  const api = given ?? known[host];
  const repository = path.replace(/\.git$/, '');
  return api === undefined ? undefined : { provider: api.provider, api_url: api.api_url, repository };
}

/** `host=github` or `host=gitlab:https://…`. */
function readApi(entry: string): { host: string; provider: string; api_url: string } | undefined {
  const [, host = '', provider = '', url] =
    /^([^=]+)=(github|gitlab)(?::(https?:\/\/\S+))?$/.exec(entry.trim()) ?? [];
  if (host === '') return undefined;
  const usual = provider === 'github' ? `https://${host}/api/v3` : `https://${host}/api/v4`;
  return { host: host.toLowerCase(), provider, api_url: (url ?? usual).replace(/\/+$/, '') };
}

const TIME_MS = 20_000;
/** Of an answer. Anyone may open a merge request whose description takes six megabytes. */
const MOST = 8 * 1024 * 1024;

/** Lengths of the pages of a list, from the longest that the servers give; each is a multiple of the next. */
const PAGES = [100, 10, 1] as const;
/** More than there are. */
const MOST_LISTED = 3000;
/** If many pages are too long to be answered. */
const MOST_ASKED = 200;

/** The hash of a commit. */
export const Sha = Type.String({ pattern: '^[0-9a-f]{40,64}$' });
/** Of a pull request, as it can be stored. */
export const PullNumber = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 });

export const unreadable = (): GitError => new GitError('the server’s answer can’t be read', null);

class TooLarge extends GitError {}

/** One server's API with one secret, which is sent nowhere else. */
export class HostApi {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #fetch: typeof fetch;

  constructor(
    config: HostConfig,
    { api_url, list }: Pick<HostAccess, 'list'> & { api_url: string },
    headers: Record<string, string>,
  ) {
    const { host } = new URL(api_url);
    const allow_hosts = [
      ...config.repository_hosts,
      ...config.repository_apis.flatMap((api) => readApi(api)?.api_url ?? []),
    ].map((name) => (URL.canParse(name) && name.includes('://') ? new URL(name).host : name));
    this.#base = api_url;
    this.#headers = headers;
    const guarded = createGuardedFetch({ egress: config.repository_egress, allow_hosts, only_hosts: [host] });
    this.#fetch = guarded.within(list);
  }

  /** Returns the answer, validated against the schema. Throws GitError for anything but success. */
  async call<S extends TSchema>(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    schema: S,
    signal: AbortSignal,
    body?: Record<string, unknown>,
  ): Promise<Static<S>> {
    const answer = await this.#send(method, path, signal, body);
    const { ok, status } = answer;
    if (!ok) throw new GitError(`the server answered ${status}${messageIn(answer)}`, status);
    try {
      return createValidator(schema, 'answer')(answer.json());
    } catch {
      throw unreadable();
    }
  }

  /** The items of a list, in order. @param path may have a query @param itemsOf takes the items out of a page */
  async *list<S extends TSchema, Item>(
    path: string,
    { schema, itemsOf }: { schema: S; itemsOf: (page: Static<S>) => readonly Item[] },
    signal: AbortSignal,
  ): AsyncGenerator<Item, void> {
    const start = `${path}${path.includes('?') ? '&' : '?'}per_page=`;
    let [at, longest] = [0, 0];
    for (let asked = 0; at < MOST_LISTED && asked < MOST_ASKED; asked += 1) {
      const size = PAGES.slice(longest).find((each) => at % each === 0)!;
      let items: readonly Item[];
      try {
        items = itemsOf(await this.call('GET', `${start}${size}&page=${at / size + 1}`, schema, signal));
      } catch (error) {
        if (!(error instanceof TooLarge) || size === 1) throw error;
        longest = PAGES.indexOf(size) + 1;
        continue;
      }
      yield* items;
      if (items.length < size) return;
      at += size;
      longest = 0;
    }
    throw new GitError('a list of the server has no end', null);
  }

  async all<S extends TSchema, Item>(
    path: string,
    parts: { schema: S; itemsOf: (page: Static<S>) => readonly Item[] },
    signal: AbortSignal,
  ): Promise<Item[]> {
    const all: Item[] = [];
    for await (const item of this.list(path, parts, signal)) all.push(item);
    return all;
  }

  async #send(
    method: string,
    path: string,
    signal: AbortSignal,
    body?: Record<string, unknown>,
  ): Promise<Answer> {
    const content = body && {
      headers: { ...this.#headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const request = { method, headers: this.#headers, ...content };
    const limits = { signal, time_ms: TIME_MS, most_bytes: MOST };
    try {
      return await exchange(this.#fetch, `${this.#base}${path}`, request, limits);
    } catch (error) {
      if (!(error instanceof ExchangeFailure)) throw error;
      const isOurs = error.kind === 'refused';
      const said = isOurs ? error.message : `the server can’t be asked: ${error.message}`;
      throw error instanceof AnswerTooLarge ? new TooLarge(said, null) : new GitError(said, null);
    }
  }
}

/** The server's own message, if it is short. */
function messageIn(answer: Answer): string {
  try {
    const refusal = answer.json() as { message?: unknown; errors?: { message?: unknown }[] };
    const words = [
      refusal.message,
      ...(Array.isArray(refusal.errors) ? refusal.errors.map(({ message }) => message) : []),
    ];
    const said = words.filter((word) => typeof word === 'string').join('; ');
    return said === '' ? '' : `: ${said.slice(0, 300).toWellFormed()}`;
  } catch {
    return '';
  }
}

/** A private key gives no access to an API. */
export function tokenOf(secret: string | null): string {
  if (secret === null) throw new GitError('the project has no secret for its repository', null);
  const login = secret.trim();
  if (isPrivateKey(login)) throw new GitError('pull requests need a token: the secret is an SSH key', null);
  return login.includes(':') ? login.slice(login.indexOf(':') + 1) : login;
}

export const isPrivateKey = (secret: string): boolean => secret.trim().startsWith('-----BEGIN');
