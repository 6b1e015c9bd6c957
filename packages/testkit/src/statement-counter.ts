/**
 * Counts SQL statements on the wire, between the service's processes and PostgreSQL, by `application_name`: it counts
 * everything sent, whoever sent it, and no process counts its own statements.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** Number of leading characters that distinguish a statement from the others. */
const SHOWN = 90;
// Message types of a client: a simple query, a statement to parse, the values bound to a parsed one.
const QUERY = 0x51;
const PARSE = 0x50;
const BIND = 0x42;
const SYNC = 0x53;

export interface StatementCounter {
  /** The database's URL through the counter. */
  url: string;
  /** Statements so far by `application_name`; BEGIN and COMMIT count. */
  counts(): Record<string, number>;
  total(): number;
  /** Leading text of all statements so far, in order, with the sender. */
  texts(): string[];
  /** The same without senders, with statements sent in one round trip grouped together. */
  trips(): string[][];
  /** The sender of each of these round trips. */
  senders(): string[];
  close(): void;
}

export async function startStatementCounter(databaseUrl: string): Promise<StatementCounter> {
  const target = new URL(databaseUrl);
  const counts = new Map<string, number>();
  const texts: string[] = [];
  const trips: string[][] = [];
  const senders: string[] = [];
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
    const conversation = new Conversation(note, (trip, sender) => {
      trips.push(trip);
      senders.push(sender);
    });
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
    senders: () => senders,
    close: () => server.close(),
  };
}

/** Splits a client's bytes into messages: the first has no type, each starts with its length (protocol version 3). */
class Conversation {
  readonly #note: (name: string, text: string) => string;
  readonly #sent: (trip: string[], sender: string) => void;
  /** Statements since the last time an answer was requested. */
  #trip: string[] = [];
  /** Texts of parsed statements by statement name. */
  readonly #prepared = new Map<string, string>();
  #name = 'unnamed';
  #rest: Buffer = Buffer.alloc(0);
  #started = false;

  constructor(note: (name: string, text: string) => string, sent: (trip: string[], sender: string) => void) {
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
    // Each of them starts with zero-terminated strings.
    const [first = '', second = ''] = message.toString('latin1', 5).split('\0', 2);
    if (message[0] === QUERY) this.#trip.push(this.#note(this.#name, first));
    else if (message[0] === PARSE) this.#prepared.set(first, second);
    else if (message[0] === BIND)
      this.#trip.push(this.#note(this.#name, this.#prepared.get(second) ?? second));
    if (message[0] !== QUERY && message[0] !== SYNC) return;
    this.#sent(this.#trip, this.#name);
    this.#trip = [];
  }
}
