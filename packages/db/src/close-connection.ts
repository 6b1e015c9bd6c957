import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ClientBase } from 'pg';

/** For a farewell that a frozen server does not answer. */
const FAREWELL_MS = 2000;

/** The connection's socket, which pg's types leave out. TLS replaces it while connecting. */
export const streamOf = (client: ClientBase): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;

/** For a connection that nobody expects an answer from. Ending it politely would wait for the server. */
export function destroyConnection(client: ClientBase): void {
  streamOf(client).destroy();
}

/** Ends it politely if the server takes part. Never rejects. */
export async function closeConnection(client: Client): Promise<void> {
  const ended = client.end().catch(() => undefined);
  await Promise.race([ended, delay(FAREWELL_MS, undefined, { ref: false })]);
  destroyConnection(client);
}

/** For a connection that is being ended: while its socket is open, the process can't exit by itself. */
export function destroySoon(client: ClientBase): void {
  setTimeout(() => destroyConnection(client), FAREWELL_MS).unref();
}
