import type { Pool, PoolClient } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { destroyConnection } from './close-connection.ts';
import { isConnectionError } from './errors.ts';
import { isSilence } from './silence.ts';

export const RETRY_EVERY_MS = 100;
/** A timer this late went off in a process that stood still: frozen, or given no processor. */
const STOOD_STILL_MS = 100;

type Query = (...args: unknown[]) => Promise<unknown>;
type ConnectCallback = (err?: Error, client?: PoolClient, release?: PoolClient['release']) => void;

/**
 * Restarting PostgreSQL takes about a second, so connecting is retried for `patienceMs` before callers fail. Also, pg-pool
 * discards a connection after any error, even a constraint violation; here only broken connections are discarded, and those for
 * which `isSuspect`.
 */
export function makePatient(
  pool: Pool,
  patienceMs: number,
  isSuspect: (client: PoolClient) => boolean,
): void {
  const connectAny: () => Promise<PoolClient> = pool.connect.bind(pool);

  async function connectOnce(): Promise<PoolClient> {
    for (;;) {
      const client = await connectAny();
      if (!isSuspect(client)) return client;
      destroyConnection(client);
      client.release(true);
    }
  }

  async function connectPatiently(): Promise<PoolClient> {
    let giveUpAt = performance.now() + patienceMs;
    for (let again = true; ;) {
      try {
        return await connectOnce();
      } catch (err) {
        if (isExhausted(err) || !isConnectionError(err)) throw err;
        const now = performance.now();
        // The server may have answered, but the timeout was noticed before its answer: it gets another chance.
        if (again && now - giveUpAt > STOOD_STILL_MS) {
          again = false;
          giveUpAt = now + patienceMs;
        } else if (now + RETRY_EVERY_MS > giveUpAt) throw err;
        else await delay(RETRY_EVERY_MS);
      }
    }
  }

  async function queryOn(client: PoolClient, args: unknown[]): Promise<unknown> {
    const send: Query = client.query.bind(client);
    let broken: Error | undefined;
    try {
      return await send(...args);
    } catch (err) {
      if (isConnectionError(err)) broken = asError(err);
      throw err;
    } finally {
      client.release(broken);
    }
  }

  // The callback forms belong to pg's own interface; our code never passes a callback to `query`.
  const connect = (callback?: ConnectCallback): Promise<PoolClient> | undefined => {
    const connecting = connectPatiently();
    if (callback === undefined) return connecting;
    void answer(connecting, callback);
    return undefined;
  };
  const query: Query = async (...args) => {
    const giveUpAt = performance.now() + patienceMs;
    // Any idle connection may have died unnoticed: one attempt for each of them, plus one on a new connection. A pooler accepts
    // connections while its server is down, so after those attempts it is retried with pauses.
    for (let dead = pool.options.max; ; dead -= 1) {
      // An exhausted pool is final: the caller has already waited for it.
      const client = await connectPatiently();
      try {
        return await queryOn(client, args);
      } catch (err) {
        if (isSilence(err) || !isConnectionError(err) || pool.ending || !isLoneSelect(args[0])) throw err;
        if (dead <= 0 && performance.now() + RETRY_EVERY_MS > giveUpAt) throw err;
      }
      if (dead <= 0) await delay(RETRY_EVERY_MS);
    }
  };
  Object.assign(pool, { connect, query });
}

async function answer(connecting: Promise<PoolClient>, callback: ConnectCallback): Promise<void> {
  let client: PoolClient;
  try {
    client = await connecting;
  } catch (err) {
    callback(asError(err));
    return;
  }
  callback(undefined, client, client.release.bind(client));
}

function asError(err: unknown): Error {
  return err instanceof Error ? err : new Error(String(err));
}

// All connections stayed in use for the whole queue timeout; asking again would only lengthen the queue.
function isExhausted(err: unknown): boolean {
  return err instanceof Error && err.message === 'timeout exceeded when trying to connect';
}

// Safe to send twice: plain reads only. `for update` and functions that write belong in transactions.
function isLoneSelect(statement: unknown): boolean {
  if (typeof statement === 'object' && statement !== null && 'text' in statement)
    return isLoneSelect(statement.text);
  return typeof statement === 'string' && /^\s*select\b/i.test(statement);
}
