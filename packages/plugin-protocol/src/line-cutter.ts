import { MAX_PLUGIN_MESSAGE_BYTES } from '@acp/contract';
import { JoinedBytes } from '@acp/kernel';
import { ProtocolError } from './protocol-error.ts';

const NEWLINE = 0x0a;

/** Splits a byte stream into lines. Never buffers more than one line of maximum length. */
export class LineCutter {
  readonly #limit: number;
  readonly #line = new JoinedBytes();

  /** @param limit in bytes, including the line end */
  constructor(limit = MAX_PLUGIN_MESSAGE_BYTES) {
    this.#limit = limit;
  }

  /**
   * Returns complete lines without line ends, skipping empty ones. Each is decoded as a whole, so that no character is split.
   * @throws ProtocolError for a line over the limit, since the start of the next one is then unknown
   */
  push(chunk: Uint8Array): string[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const lines: string[] = [];
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
      const line = this.#line
        .takeWith(this.#checked(bytes.subarray(from, at)))
        .toString('utf8')
        .trim();
      if (line !== '') lines.push(line);
      from = at + 1;
    }
    this.#line.add(this.#checked(bytes.subarray(from)));
    return lines;
  }

  #checked(part: Buffer): Buffer {
    if (this.#line.length + part.length + 1 > this.#limit)
      throw new ProtocolError(`a message is longer than ${this.#limit} bytes`);
    return part;
  }
}
