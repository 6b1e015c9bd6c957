/** A mirror of GitHub's issues and pull requests, in the plugin's own key-value store. */
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
  /** Issues of the company that it mentions, each with the last state commented there. */
  told: Record<string, string>;
}

/** GitHub's items that mention an issue of the company. */
export interface Links {
  items: string[];
  /** The end that was announced at GitHub. */
  announced: string | null;
}

export const itemKey = (repository: string, number: number): string => `item:${repository}#${number}`;
export const linkKey = (identifier: string): string => `link:${identifier}`;

/** Concurrent changes of one item are rare; each attempt starts from the current value. */
const TRIES = 5;

/** Computes a value from its old one; undefined keeps it. Safe against concurrent changes. */
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

/** Stores the item's state at GitHub; one older than the stored state changes nothing. */
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

/** Known items, newest first; at most `limit`. */
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
  // By number: the newest have the highest ones, and only those are read.
  const numberOf = (key: string) => Number(key.slice(key.lastIndexOf('#') + 1));
  const newest = keys.toSorted((a, b) => numberOf(b) - numberOf(a)).slice(0, limit);
  if (newest.length === 0) return [];
  const found = await host.kv.transaction(newest.map((key) => ({ op: 'get', key })));
  return found.flatMap(({ value }) => (value === null ? [] : [value as Item]));
}
