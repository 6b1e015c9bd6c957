/** What is known of GitHub's issues and pull requests, in the plugin's own values. */
import { type Host, HostError } from '@acp/plugin-sdk';
import type { GithubItem } from './github-api.ts';

export interface Item {
  repository: string;
  number: number;
  kind: 'issue' | 'pull_request';
  title: string;
  state: 'open' | 'closed' | 'merged';
  author: string;
  url: string;
  labels: string[];
  updated_at: string;
  /** Issues of the company that it mentions, with the state that was told there. */
  told: Record<string, string>;
}

/** GitHub's items that mention an issue of the company. */
export interface Links {
  items: string[];
  /** The end that GitHub was told of. */
  announced: string | null;
}

export const itemKey = (repository: string, number: number): string => `item:${repository}#${number}`;
export const linkKey = (identifier: string): string => `link:${identifier}`;

/** Several of an item that come at once are rare; each change begins again from what it finds. */
const TRIES = 5;

/** Changes a value by what it is; undefined leaves it. Safe against others that do the same. */
export async function change<T>(
  host: Host,
  key: string,
  by: (old: T | null) => T | undefined,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { value, version } = await host.kv.get(key);
    const changed = by(value as T | null);
    if (changed === undefined) return;
    try {
      await host.kv.set(key, changed, version);
      return;
    } catch (error) {
      if (!(error instanceof HostError) || error.code !== 'conflict' || attempt === TRIES) throw error;
    }
  }
}

/** As it is at GitHub now; older news than what is known changes nothing. */
export async function remember(host: Host, repository: string, found: GithubItem): Promise<Item> {
  const key = itemKey(repository, found.number);
  let item = itemOf(repository, found, {});
  await change<Item>(host, key, (old) => {
    item = itemOf(repository, found, old?.told ?? {});
    if (old && old.updated_at > item.updated_at) {
      item = old;
      return undefined;
    }
    return item;
  });
  return item;
}

function itemOf(repository: string, found: GithubItem, told: Record<string, string>): Item {
  const merged = found.merged_at ?? found.pull_request?.merged_at ?? null;
  return {
    repository,
    number: found.number,
    kind: found.pull_request || found.head ? 'pull_request' : 'issue',
    title: found.title.slice(0, 500),
    state: merged === null ? found.state : 'merged',
    author: found.user?.login ?? 'ghost',
    url: found.html_url,
    labels: (found.labels ?? []).map((label) => (typeof label === 'string' ? label : (label.name ?? ''))),
    updated_at: found.updated_at,
    told,
  };
}

/** Newest first of those that are known; `limit` of them. */
export async function known(host: Host, repository: string, limit: number): Promise<Item[]> {
  const keys: string[] = [];
  let after: string | undefined;
  for (;;) {
    const prefix = `item:${repository}#`;
    const page = await host.kv.list({ prefix, limit: 1000, ...(after !== undefined && { after }) });
    keys.push(...page.keys);
    after = page.keys.at(-1);
    if (!page.more || after === undefined) break;
  }
  // By number: the newest are those with the highest, and only those are read.
  const numberOf = (key: string) => Number(key.slice(key.lastIndexOf('#') + 1));
  const newest = keys.toSorted((a, b) => numberOf(b) - numberOf(a)).slice(0, limit);
  if (newest.length === 0) return [];
  const found = await host.kv.transaction(newest.map((key) => ({ op: 'get', key })));
  return found.flatMap(({ value }) => (value === null ? [] : [value as Item]));
}
