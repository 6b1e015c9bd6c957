import { MAX_PLUGIN_MESSAGE_BYTES } from '@acp/contract';
import { ProtocolError } from './protocol-error.ts';

const NEWLINE = 0x0a;

/** Cuts a byte stream into lines. Holds no more than one line of the limit, whatever comes. */
export class LineCutter {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #length = 0;

  /** @param limit in bytes, the end of the line included */
  constructor(limit = MAX_PLUGIN_MESSAGE_BYTES) {
    this.#limit = limit;
  }

  /**
   * Complete lines without their ends; empty ones are left out. Each is decoded as a whole, so that no character is torn.
   * @throws ProtocolError for a line over the limit: where the next one begins is then unknown
   */
  push(chunk: Uint8Array): string[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const lines: string[] = [];
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
      this.#keep(bytes.subarray(from, at));
      const line = Buffer.concat(this.#parts, this.#length).toString('utf8').trim();
      this.#parts = [];
      this.#length = 0;
      if (line !== '') lines.push(line);
      from = at + 1;
    }
    // A copy: the chunk may be a small part of a large pool.
    this.#keep(Buffer.from(bytes.subarray(from)));
    return lines;
  }

  #keep(part: Buffer): void {
    if (this.#length + part.length + 1 > this.#limit)
      throw new ProtocolError(`a message is longer than ${this.#limit} bytes`);
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#length += part.length;
  }
}
