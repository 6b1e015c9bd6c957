/** The protocol's JSON lines. Node's `readline` would also split at U+2028, which JSON does not escape. */
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { MAX_MESSAGE_BYTES } from './protocol.ts';

export async function* readLines(input: Readable): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  for await (const chunk of input as AsyncIterable<Buffer>) {
    let begin = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, begin)) {
      parts.push(chunk.subarray(begin, end));
      yield Buffer.concat(parts).toString('utf8');
      parts = [];
      begin = end + 1;
    }
    if (begin < chunk.length) parts.push(chunk.subarray(begin));
  }
}

/** A message exceeds the protocol's limit. */
export class TooLong extends Error {}

export class LineWriter {
  readonly #output: Writable;

  constructor(output: Writable) {
    this.#output = output;
  }

  /** Resolves when there is room for more. Throws `TooLong` before anything is written. */
  async write(message: { type: string; payload: object }): Promise<void> {
    const line = `${JSON.stringify(message)}\n`;
    const bytes = Buffer.byteLength(line);
    if (bytes > MAX_MESSAGE_BYTES)
      throw new TooLong(`a message of ${bytes} bytes: ${MAX_MESSAGE_BYTES} is the most`);
    if (!this.#output.write(line)) await once(this.#output, 'drain');
  }
}
