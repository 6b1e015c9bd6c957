import { egressList } from '@acp/core';
import { type Database, type Listener, WILDCARD } from '@acp/db';
import type { HostList } from '@acp/kernel';

interface Known {
  list: Promise<HostList | null>;
  /** By the process's own clock, in milliseconds. */
  until: number;
}

/** As for credentials: what a lost notification costs at most. */
const KEPT_MS = 10_000;
const MOST = 1000;

/** Of databases that are listened to; of others each look is a query. */
const caches = new WeakMap<Database, Map<string, Known>>();

/** Lists are kept for some seconds from now on, and forgotten as soon as they change. @returns what ends that */
export function watchLists(database: Database, listener: Pick<Listener, 'on' | 'onReconnect'>): () => void {
  const cache = new Map<string, Known>();
  caches.set(database, cache);
  const off = listener.on('egress', (ids) => {
    if (ids.includes(WILDCARD)) cache.clear();
    for (const id of ids) cache.delete(id);
  });
  listener.onReconnect(() => cache.clear());
  return () => {
    off();
    caches.delete(database);
  };
}

/** What the company lets out; null: it has no list. */
export async function listOf(database: Database, company_id: string): Promise<HostList | null> {
  const cache = caches.get(database);
  if (cache === undefined) return egressList(database.db, company_id);
  const now = performance.now();
  const known = cache.get(company_id);
  if (known !== undefined && known.until > now) return known.list;
  const list = egressList(database.db, company_id);
  const fresh = { list, until: now + KEPT_MS };
  cache.delete(company_id);
  cache.set(company_id, fresh);
  const [oldest] = cache.keys();
  if (cache.size > MOST && oldest !== undefined) cache.delete(oldest);
  list.catch(() => {
    if (cache.get(company_id) === fresh) cache.delete(company_id);
  });
  return list;
}
