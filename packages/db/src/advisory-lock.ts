import type { ClientBase } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';

const RETRY_EVERY_MS = 50;

/**
 * Runs `fn` while this session holds the lock of that name; the lock goes with the session if the process dies.
 * Needs a session of its own (no transaction-mode pooler, no open transaction). It asks again instead of waiting
 * inside a statement: a waiting statement holds a snapshot, which `create index concurrently` would wait for in turn.
 */
export async function withAdvisoryLock<T>(client: ClientBase, key: string, fn: () => Promise<T>): Promise<T> {
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as locked',
      [key],
    );
    if (rows[0]?.locked === true) break;
    await delay(RETRY_EVERY_MS);
  }
  try {
    return await fn();
  } finally {
    // On a broken connection the lock is gone already, and the error of `fn` is the one to tell.
    await client.query('select pg_advisory_unlock(hashtextextended($1, 0))', [key]).catch(() => undefined);
  }
}
