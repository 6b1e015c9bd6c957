import { egressList, egressLists } from '@acp/core';
import { type Database, type Listener, WILDCARD } from '@acp/db';
import type { HostList } from '@acp/kernel';

interface Known<T> {
  value: Promise<T>;
  /** In milliseconds of the process's own clock. */
  until: number;
}

/** Few companies have a list: all lists are read in one query, and one by one only if there are very many. */
interface Cache {
  all: Known<Map<string, HostList> | undefined> | undefined;
  each: Map<string, Known<HostList | null>>;
}

/** Same as for credentials: the longest that a lost notification can go unnoticed. */
const KEPT_MS = 10_000;
const MOST = 1000;

/** Databases with a listener; for others each lookup is a query. */
const caches = new WeakMap<Database, Cache>();

/** From now on lists are cached for some seconds and dropped as soon as they change. @returns stops the caching */
export function watchLists(database: Database, listener: Pick<Listener, 'on' | 'onReconnect'>): () => void {
  const cache: Cache = { all: undefined, each: new Map() };
  caches.set(database, cache);
  const off = listener.on('egress', (ids) => {
    cache.all = undefined;
    if (ids.includes(WILDCARD)) cache.each.clear();
    for (const id of ids) cache.each.delete(id);
  });
  listener.onReconnect(() => {
    cache.all = undefined;
    cache.each.clear();
  });
  return () => {
    off();
    caches.delete(database);
  };
}

/** The hosts that the company may reach; null: it has no list. */
export async function listOf(database: Database, company_id: string): Promise<HostList | null> {
  const cache = caches.get(database);
  if (cache === undefined) return egressList(database.db, company_id);
  const all = await allOf(cache, database);
  if (all !== undefined) return all.get(company_id) ?? null;
  const known = cache.each.get(company_id);
  if (isFresh(known)) return known.value;
  const read = kept(egressList(database.db, company_id), () => {
    if (cache.each.get(company_id) === read) cache.each.delete(company_id);
  });
  cache.each.delete(company_id);
  cache.each.set(company_id, read);
  const [oldest] = cache.each.keys();
  if (cache.each.size > MOST && oldest !== undefined) cache.each.delete(oldest);
  return read.value;
}

function allOf(cache: Cache, database: Database): Promise<Map<string, HostList> | undefined> {
  if (isFresh(cache.all)) return cache.all.value;
  const read = kept(egressLists(database.db, MOST), () => {
    if (cache.all === read) cache.all = undefined;
  });
  cache.all = read;
  return read.value;
}

const isFresh = <T>(known: Known<T> | undefined): known is Known<T> =>
  known !== undefined && known.until > performance.now();

/** @param forget drops the entry after a failed read, so that it is read again */
function kept<T>(value: Promise<T>, forget: () => void): Known<T> {
  value.catch(forget);
  return { value, until: performance.now() + KEPT_MS };
}
