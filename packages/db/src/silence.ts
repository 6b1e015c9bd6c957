import type { Socket } from 'node:net';
import { Client, type ClientBase } from 'pg';

/** A second look before a connection is given up. */
const SECOND_LOOK_MS = 1000;

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

/** The part of pg's client that its types leave out. */
interface Driver {
  connection: { stream: Socket };
}

/**
 * Destroys the connection when a statement waits and nothing has come for `afterMs`: the server is frozen, or a firewall forgot
 * the connection, which no one tells. The socket's own timer does it, so a statement costs nothing more; pg's `query_timeout`
 * sets and clears one for each, and counts the waiting behind other statements of its connection as well.
 * @param client connected already: TLS replaces the stream until then
 * @param onSilence called before it is destroyed
 */
export function endIfSilent(client: Client, afterMs: number, onSilence?: () => void): void {
  const driver = client as unknown as Driver;
  const isWaiting = () => Boolean(Reflect.apply(activeQuery, client, [])) && !patient.has(client);
  const { stream } = driver.connection;
  stream.setTimeout(Math.max(afterMs - SECOND_LOOK_MS, 1));
  stream.on('timeout', () => {
    if (!isWaiting()) return;
    // Perhaps this process stood still itself, and the answer is there to be read.
    const heard = stream.bytesRead;
    setTimeout(() => {
      if (!isWaiting() || stream.bytesRead !== heard) return;
      onSilence?.();
      stream.destroy(new DatabaseSilent());
    }, SECOND_LOOK_MS).unref();
  });
}

/** Its next statements may take hours. */
export function allowSilence(client: ClientBase): void {
  patient.add(client);
}

export function endSilence(client: ClientBase): void {
  patient.delete(client);
}

/** For a connection that nobody expects an answer from. Ending it politely would wait for the server. */
export function destroyConnection(client: ClientBase): void {
  (client as unknown as Driver).connection.stream.destroy();
}

/** True if a connection was given up, so that asking again would only take as long again. */
export function isSilence(err: unknown): boolean {
  for (let link = err; link instanceof Error; link = link.cause)
    if (link instanceof DatabaseSilent) return true;
  return false;
}
