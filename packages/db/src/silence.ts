import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientBase } from 'pg';
import { streamOf } from './close-connection.ts';
import { someCause } from './errors.ts';
import { isAtWork } from './is-at-work.ts';

/** A second look before a connection is given up. */
const SECOND_LOOK_MS = 1000;
/** When, and from then on how often, the server is asked whether it still works for a statement that may take hours. */
const FIRST_LOOK_MS = 15_000;
const LOOK_EVERY_MS = 10_000;
const ANSWER_MS = 5000;

/** Connections that are waiting for a statement without a limit of its own. */
const patient = new WeakSet<ClientBase>();

/** What the statements of a connection fail with that was given up. What they did is unknown. */
class DatabaseSilent extends Error {
  readonly code = 'ETIMEDOUT';

  constructor() {
    super('the database is connected and does not answer');
  }
}

/** The statement that is waiting, if any: the client's public `activeQuery` warns of its use. */
const activeQuery = Reflect.get(Client.prototype, '_getActiveQuery') as () => unknown;

/** Which pg's types leave out. */
const sessionOf = (client: ClientBase): number | null =>
  (client as unknown as { processID: number | null }).processID;

interface SilenceOptions {
  /** Called before the connection is destroyed. */
  onSilence?: (() => void) | undefined;
  /** Address at which to ask what became of a statement that may take its time. */
  url?: string;
  /** False: the address is a pooler's, which does not tell which session works for us. */
  sessions?: boolean;
}

/**
 * Destroys the connection when a statement waits and nothing has come for `afterMs`: the server is frozen, or a firewall forgot
 * the connection, which no one tells. The socket's own timer does it, so a statement costs nothing more; pg's `query_timeout`
 * sets and clears one for each, and counts the waiting behind other statements of its connection as well.
 * A statement that may take its time (`allowSilence`) is given up only if the server no longer works for it.
 * @param client connected already: TLS replaces the stream until then
 */
export function endIfSilent(client: Client, afterMs: number, options: SilenceOptions = {}): void {
  const stream = streamOf(client);
  const isWaiting = () => Boolean(Reflect.apply(activeQuery, client, [])) && !stream.destroyed;
  const giveUp = () => {
    options.onSilence?.();
    stream.destroy(new DatabaseSilent());
  };
  const session = options.sessions === false ? null : sessionOf(client);
  // Two in a row, because an answer may be on its way while one asks.
  const lookOften = once(async (url: string) => {
    let heard = stream.bytesRead;
    for (let failed = 0; isWaiting() && patient.has(client);) {
      const works = await isAtWork(url, session, Math.min(afterMs, ANSWER_MS));
      failed = works || stream.bytesRead !== heard ? 0 : failed + 1;
      heard = stream.bytesRead;
      if (failed === 2 && isWaiting()) return giveUp();
      await delay(Math.min(afterMs, LOOK_EVERY_MS), undefined, { ref: false });
    }
  });
  stream.setTimeout(Math.max(afterMs - SECOND_LOOK_MS, 1));
  stream.on('timeout', () => {
    if (!isWaiting()) return;
    if (patient.has(client)) {
      if (options.url !== undefined) lookOften(options.url);
      return;
    }
    // Perhaps this process stood still itself, and the answer is there to be read.
    const heard = stream.bytesRead;
    setTimeout(() => {
      if (isWaiting() && !patient.has(client) && stream.bytesRead === heard) giveUp();
    }, SECOND_LOOK_MS).unref();
  });
}

/** Runs it unless it is running. It must not reject. */
function once<T>(work: (given: T) => Promise<void>): (given: T) => void {
  let running = false;
  return (given) => {
    if (running) return;
    running = true;
    void work(given).finally(() => (running = false));
  };
}

/**
 * For a connection of its own, whose statements may take hours: gives it up only when the server is gone, frozen, or no longer
 * works for it.
 * @param url the direct address that it is connected to
 */
export function watchForSilence(client: Client, url: string, afterMs = FIRST_LOOK_MS): void {
  allowSilence(client);
  endIfSilent(client, afterMs, { url });
}

/** Its next statements may take hours. */
export function allowSilence(client: ClientBase): void {
  patient.add(client);
}

export function endSilence(client: ClientBase): void {
  patient.delete(client);
}

/** PgBouncer's error once no server was free for a statement for its `query_wait_timeout`. */
const POOLER_GAVE_UP = 'query_wait_timeout';

/** True if a connection was given up, by us or by a pooler, so that asking again would only take as long again. */
export function isSilence(err: unknown): boolean {
  return someCause(
    err,
    (link) =>
      link instanceof DatabaseSilent || (link instanceof Error && link.message.startsWith(POOLER_GAVE_UP)),
  );
}
