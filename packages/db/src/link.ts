import { Client } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@acp/kernel';
import { destroyConnection } from './close-connection.ts';
import { endIfSilent } from './silence.ts';

interface LinkOptions {
  /** The direct address: LISTEN needs a session of its own. */
  url: string;
  application_name: string;
  logger?: Logger | undefined;
  /** Runs on every new connection before anyone can use it. */
  prepare?: (client: Client) => Promise<void>;
  /** Called after `prepare`; `again` is false the first time. */
  onUp?: (again: boolean) => void;
  onNotification?: (channel: string, payload: string) => void;
  /** False: its owner sends statements more often than pings would be sent. */
  pings?: boolean;
}

/** A connection that reconnects by itself. */
export interface Link {
  /** The live connection; waits while the database is away. Rejects once closed. */
  client(): Promise<Client>;
  /** The live connection, or null. */
  current(): Client | null;
  close(): Promise<void>;
}

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 1000;
// In attempts: about five seconds.
const WARN_FROM = 8;
const CONNECT_TIMEOUT_MS = 5000;
// A peer that vanished silently (a failed-over host) is noticed after at most the sum of both.
export const PING_EVERY_MS = 30_000;
const ANSWER_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2000;

/** Quiet during a restart, then ever more rarely: a database that is away for an hour produces a dozen lines. */
function shouldLog(failures: number): boolean {
  return failures >= WARN_FROM && Number.isInteger(Math.log2(failures));
}

export function openLink(options: LinkOptions): Link {
  const { logger } = options;
  const closing = new AbortController();
  let up: Client | null = null;
  let waiting = Promise.withResolvers<Client>();
  waiting.promise.catch(() => undefined);

  async function connect(): Promise<{ client: Client; ended: Promise<void> }> {
    const client = new Client({
      connectionString: options.url,
      application_name: options.application_name,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    client.once('end', resolve);
    client.on('error', (err) => logger?.debug('database link error', { error: err.message }));
    client.on('notification', ({ channel, payload }) => options.onNotification?.(channel, payload ?? ''));
    try {
      await client.connect();
      endIfSilent(client, ANSWER_MS);
      await options.prepare?.(client);
    } catch (err) {
      await client.end().catch(() => undefined);
      throw err;
    }
    return { client, ended };
  }

  async function stayConnected(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    let failures = 0;
    for (let again = false; !closing.signal.aborted;) {
      try {
        const { client, ended } = await connect();
        // Closed while connecting: at that time there was nothing to end.
        if (closing.signal.aborted) {
          await client.end();
          break;
        }
        retryMs = FIRST_RETRY_MS;
        failures = 0;
        up = client;
        waiting.resolve(client);
        if (again) logger?.info('database link is back', { link: options.application_name });
        options.onUp?.(again);
        again = true;
        await ended;
        if (!closing.signal.aborted) logger?.warn('database link lost', { link: options.application_name });
      } catch (err) {
        const error = err instanceof Error ? err.message : String(err);
        failures += 1;
        if (shouldLog(failures))
          logger?.warn('database link: no connection', { link: options.application_name, error });
        await delay(retryMs, undefined, { signal: closing.signal }).catch(() => undefined);
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      }
      if (up !== null) {
        up = null;
        waiting = Promise.withResolvers();
        waiting.promise.catch(() => undefined);
      }
    }
    waiting.reject(new Error('the database link is closed'));
  }

  const ping = () => void up?.query('select 1').catch(() => undefined);
  const pinging = options.pings === false ? undefined : setInterval(ping, PING_EVERY_MS).unref();
  const running = stayConnected();
  return {
    client: async () => waiting.promise,
    current: () => up,
    close: async () => {
      clearInterval(pinging);
      closing.abort();
      const last = up;
      last?.end().catch(() => undefined);
      // A peer that does not answer must not delay the exit of the process.
      await Promise.race([running, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
      if (last !== null) destroyConnection(last);
    },
  };
}
