import type { Pool, PoolClient } from 'pg';

/** Opened whenever they are wanted. */
const FEW = 2;
/** Roughly what it takes to open a connection and make it useful on an idle machine: a process, a login, the catalogue, plans. */
const OPENING_MS = 20;
/** Even where opening takes longer, nobody waits longer before another one is opened. */
const LONGEST_MS = 250;

/**
 * Lets the pool open more than a few connections only once callers have been waiting, without a break, for as long as opening one takes,
 * which is what the last one took: on a busy machine it takes longer, and another process makes that worse. Otherwise each burst opens them
 * all, although the first few have served it before the others are ready: for half a minute and more, 20 MB of PostgreSQL's memory each.
 */
export function growOnDemand(
  pool: Pool,
  { opening_ms = OPENING_MS, longest_ms = LONGEST_MS, clock = () => performance.now() } = {},
): void {
  const most = pool.options.max;
  if (most <= FEW) return;
  pool.options.max = FEW;
  const connectAny: () => Promise<PoolClient> = pool.connect.bind(pool);
  let timer: NodeJS.Timeout | undefined;
  let growing = false;
  /** When the connection that is being opened was begun: until it is there, nobody knows whether it will do. */
  let begun: number | undefined;
  let patience = opening_ms;

  const isShort = (): boolean => pool.waitingCount > 0 && pool.options.max < most;

  function watch(): void {
    if (growing || begun !== undefined || timer !== undefined || pool.idleCount > 0 || !isShort()) return;
    // A process that was busy itself first reads the answers that have arrived meanwhile.
    timer = setTimeout(() => setImmediate(grow), patience);
  }

  function grow(): void {
    // Cleared in between: nobody waits any more.
    if (timer === undefined) return;
    timer = undefined;
    if (!isShort()) return;
    growing = true;
    pool.options.max += 1;
    begun = clock();
    // Released at once, it goes to whoever has waited longest. If it can't be opened, those who wait find out themselves.
    connectAny()
      .then((client) => client.release())
      .catch(() => undefined)
      .finally(() => {
        growing = false;
        begun = undefined;
        watch();
      });
  }

  pool.on('connect', () => {
    if (begun !== undefined) patience = Math.max(opening_ms, Math.min(clock() - begun, longest_ms));
    begun = undefined;
  });
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
    if (pool.totalCount === 0) begun = clock();
    const connecting = connectAny();
    connecting.catch(() => {
      begun = undefined;
      watch();
    });
    watch();
    return connecting;
  };
  Object.assign(pool, { connect });
}
