import type { ClientBase } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';

const RETRY_EVERY_MS = 50;
const LOG_EVERY_MS = 10_000;

/**
 * Runs `fn` while this session holds the advisory lock `key`; the lock is released if the process dies.
 * Needs a dedicated session (no transaction-mode pooler, no open transaction). It polls instead of blocking inside a
 * statement: a blocked statement holds a snapshot, and `create index concurrently` would wait for that snapshot in turn.
 * @param onWait called every ten seconds while another session holds the lock
 */
export async function withAdvisoryLock<T>(
  client: ClientBase,
  key: string,
  fn: () => Promise<T>,
  onWait?: () => void,
): Promise<T> {
  for (let loggedAt = performance.now(); ;) {
    const { rows } = await client.query<{ locked: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as locked',
      [key],
    );
    if (rows[0]?.locked === true) break;
    if (performance.now() - loggedAt >= LOG_EVERY_MS) {
      loggedAt = performance.now();
      onWait?.();
    }
    await delay(RETRY_EVERY_MS);
  }
  try {
    return await fn();
  } finally {
    // On a broken connection the lock is already gone, and the error of `fn` is the one to report.
    await client.query('select pg_advisory_unlock(hashtextextended($1, 0))', [key]).catch(() => undefined);
  }
}
