/**
 * Counts SQL statements on the wire, between the service's processes and PostgreSQL, by what connections call
 * themselves: what is counted is what was sent, whoever sent it, and no process counts itself.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** Characters of a statement that tell it from the others. */
const SHOWN = 90;
// Types of a client's messages: a simple query, a statement to parse, the values that a parsed one is sent with.
const QUERY = 0x51;
const PARSE = 0x50;
const BIND = 0x42;
const SYNC = 0x53;

export interface StatementCounter {
  /** The database's URL by way of the counter. */
  url: string;
  /** Statements so far by `application_name`; BEGIN and COMMIT count. */
  counts(): Record<string, number>;
  total(): number;
  /** Beginnings of the texts of all statements so far, in order, with who sent them. */
  texts(): string[];
  /** The same without the senders; those that were sent to be answered at once stand together. */
  trips(): string[][];
  close(): void;
}

export async function startStatementCounter(databaseUrl: string): Promise<StatementCounter> {
  const target = new URL(databaseUrl);
  const counts = new Map<string, number>();
  const texts: string[] = [];
  const trips: string[][] = [];
  const note = (name: string, text: string): string => {
    const shown = text.replaceAll(/\s+/g, ' ').trim().slice(0, SHOWN);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    texts.push(`${name}: ${shown}`);
    return shown;
  };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    const conversation = new Conversation(note, (trip) => trips.push(trip));
    client.on('data', (chunk: Buffer) => conversation.read(chunk));
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
    total: () => texts.length,
    texts: () => texts,
    trips: () => trips,
    close: () => server.close(),
  };
}

/** Cuts a client's bytes into messages: the first has no type, each begins with its length (protocol version 3). */
class Conversation {
  readonly #note: (name: string, text: string) => string;
  readonly #sent: (trip: string[]) => void;
  /** Since the last time that an answer was asked for. */
  #trip: string[] = [];
  /** Texts of what was parsed, by the names of the statements. */
  readonly #prepared = new Map<string, string>();
  #name = 'unnamed';
  #rest: Buffer = Buffer.alloc(0);
  #started = false;

  constructor(note: (name: string, text: string) => string, sent: (trip: string[]) => void) {
    this.#note = note;
    this.#sent = sent;
  }

  read(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const typeLength = this.#started ? 1 : 0;
      if (this.#rest.length < typeLength + 4) return;
      const end = typeLength + this.#rest.readInt32BE(typeLength);
      if (this.#rest.length < end) return;
      this.#take(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
    }
  }

  #take(message: Buffer): void {
    if (!this.#started) {
      this.#started = true;
      this.#name = /application_name\0([^\0]*)/.exec(message.toString('latin1'))?.[1] ?? this.#name;
      return;
    }
    // Zero-terminated texts stand at the beginning of each of them.
    const [first = '', second = ''] = message.toString('latin1', 5).split('\0', 2);
    if (message[0] === QUERY) this.#trip.push(this.#note(this.#name, first));
    else if (message[0] === PARSE) this.#prepared.set(first, second);
    else if (message[0] === BIND)
      this.#trip.push(this.#note(this.#name, this.#prepared.get(second) ?? second));
    if (message[0] !== QUERY && message[0] !== SYNC) return;
    this.#sent(this.#trip);
    this.#trip = [];
  }
}
