import type { Pool, PoolClient } from 'pg';

/** Opened whenever they are wanted. */
const FEW = 2;
/** Roughly what it takes to open a connection and make it useful: a process, a login, the catalogue, plans. */
const OPENING_MS = 20;

/**
 * Lets the pool open more than a few connections only once callers have been waiting, without a break, for as long as opening one takes.
 * Otherwise each burst opens them all, although the first few have served it before the others are ready: for half a minute and more, 20 MB
 * of PostgreSQL's memory each.
 */
export function growOnDemand(pool: Pool, openingMs = OPENING_MS): void {
  const most = pool.options.max;
  if (most <= FEW) return;
  pool.options.max = FEW;
  const connectAny: () => Promise<PoolClient> = pool.connect.bind(pool);
  let timer: NodeJS.Timeout | undefined;
  let growing = false;

  const isShort = (): boolean => pool.waitingCount > 0 && pool.options.max < most;

  function watch(): void {
    if (growing || timer !== undefined || pool.idleCount > 0 || !isShort()) return;
    // A process that was busy itself first reads the answers that have arrived meanwhile.
    timer = setTimeout(() => setImmediate(grow), openingMs);
  }

  function grow(): void {
    // Cleared in between: nobody waits any more.
    if (timer === undefined) return;
    timer = undefined;
    if (!isShort()) return;
    growing = true;
    pool.options.max += 1;
    // Released at once, it goes to whoever has waited longest. If it can't be opened, those who wait find out themselves.
    connectAny()
      .then((client) => client.release())
      .catch(() => undefined)
      .finally(() => {
        growing = false;
        watch();
      });
  }

  pool.on('acquire', () => {
    // Somebody who saw an idle connection may have lost it to somebody else.
    if (pool.waitingCount > 0) return watch();
    clearTimeout(timer);
    timer = undefined;
  });
  pool.on('remove', () => {
    pool.options.max = Math.min(most, Math.max(FEW, pool.totalCount));
    watch();
  });
  const connect = (): Promise<PoolClient> => {
    const connecting = connectAny();
    watch();
    return connecting;
  };
  Object.assign(pool, { connect });
}
