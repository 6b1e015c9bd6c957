/** Reads the server name (SNI) from the first bytes that a TLS client sends. */

/** Longer than any honest client's; others must not hide the name behind padding. */
const LONGEST = 32 * 1024;
/** All are read again with every chunk that arrives, and a record may have one byte. */
const MOST_RECORDS = 100;
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/** `more`: incomplete so far. Null name: not TLS, or without a server name. */
type ClientName = 'more' | 'unreadable' | { name: string | null };

export function clientName(bytes: Buffer): ClientName {
  if (bytes.length === 0) return 'more';
  if (bytes[0] !== HANDSHAKE) return { name: null };
  if (bytes.length > LONGEST) return 'unreadable';
  const hello = handshakeOf(bytes);
  if (typeof hello === 'string') return hello;
  try {
    return { name: nameIn(new Reader(hello)) };
  } catch {
    return 'unreadable';
  }
}

/** The first message, reassembled from its records. */
function handshakeOf(bytes: Buffer): Buffer | 'more' | 'unreadable' {
  const message = Buffer.alloc(bytes.length);
  let [at, have] = [0, 0];
  for (let records = 0; at + 5 <= bytes.length && bytes[at] === HANDSHAKE; records += 1) {
    if (records === MOST_RECORDS) return 'unreadable';
    const end = at + 5 + bytes.readUInt16BE(at + 3);
    have += bytes.copy(message, have, at + 5, end);
    const length = have < 4 ? Infinity : 4 + message.readUIntBE(1, 3);
    if (have >= length) return message.subarray(0, length);
    at = end;
  }
  return 'more';
}

class Reader {
  #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  number(size: number): number {
    return this.take(size).readUIntBE(0, size);
  }

  take(length: number): Buffer {
    if (length > this.#bytes.length) throw new RangeError('too short');
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }

  /** The bytes after a length prefix of `size` bytes. */
  vector(size: number): Reader {
    return new Reader(this.take(this.number(size)));
  }

  text(size: number): string {
    return this.take(this.number(size)).toString('latin1');
  }
}

function nameIn(hello: Reader): string | null {
  if (hello.number(1) !== CLIENT_HELLO) return null;
  hello.take(3 + 2 + 32);
  hello.vector(1);
  hello.vector(2);
  hello.vector(1);
  if (hello.isEmpty) return null;
  const extensions = hello.vector(2);
  while (!extensions.isEmpty) {
    const type = extensions.number(2);
    const body = extensions.vector(2);
    if (type !== SERVER_NAME) continue;
    const names = body.vector(2);
    while (!names.isEmpty) {
      const kind = names.number(1);
      const name = names.text(2);
      if (kind === HOST_NAME) return name.toLowerCase();
    }
  }
  return null;
}
