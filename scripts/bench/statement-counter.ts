/**
 * Counts SQL statements on the wire, between the service's processes and PostgreSQL, by what connections call
 * themselves: what is counted is what was sent, whoever sent it, and no process counts itself.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

const QUERY = 0x51;
const EXECUTE = 0x45;

export interface StatementCounter {
  /** The database's URL by way of the counter. */
  url: string;
  /** Statements so far by `application_name`; BEGIN and COMMIT count. */
  counts(): Record<string, number>;
  total(): number;
  close(): void;
}

export async function startStatementCounter(databaseUrl: string): Promise<StatementCounter> {
  const target = new URL(databaseUrl);
  const counts = new Map<string, number>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    let name = '';
    const reader = new MessageReader(
      (startup) => (name = /application_name\0([^\0]*)/.exec(startup)?.[1] ?? 'unnamed'),
      (type) => {
        if (type === QUERY || type === EXECUTE) counts.set(name, (counts.get(name) ?? 0) + 1);
      },
    );
    client.on('data', (chunk: Buffer) => reader.read(chunk));
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    counts: () => Object.fromEntries(counts),
    total: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
    close: () => server.close(),
  };
}

/** Cuts a client's bytes into messages: the first has no type, each begins with its length (protocol version 3). */
class MessageReader {
  readonly #onStartup: (text: string) => void;
  readonly #onMessage: (type: number) => void;
  #rest: Buffer = Buffer.alloc(0);
  #started = false;

  constructor(onStartup: (text: string) => void, onMessage: (type: number) => void) {
    this.#onStartup = onStartup;
    this.#onMessage = onMessage;
  }

  read(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const typeLength = this.#started ? 1 : 0;
      if (this.#rest.length < typeLength + 4) return;
      const end = typeLength + this.#rest.readInt32BE(typeLength);
      if (this.#rest.length < end) return;
      const message = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      if (this.#started) this.#onMessage(message[0]!);
      else this.#onStartup(message.toString('latin1'));
      this.#started = true;
    }
  }
}
