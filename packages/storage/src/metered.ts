import { createHash } from 'node:crypto';
import { tooLarge } from '@acp/kernel';
import type { StoredObject } from './storage.ts';

/** Counts and hashes bytes on their way into a store, and enforces the limit. */
export class Meter {
  readonly #hash = createHash('sha256');
  readonly #maxBytes: number;
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Passes chunks through. Throws `too_large` before a chunk that would exceed the limit, and the signal's reason. */
  async *measure(body: AsyncIterable<Uint8Array>, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      signal?.throwIfAborted();
      this.#size += chunk.length;
      if (this.#size > this.#maxBytes) throw tooLarge('file too large');
      this.#hash.update(chunk);
      yield chunk;
    }
    signal?.throwIfAborted();
  }

  /** Call once, after the last chunk. */
  result(): StoredObject {
    return { size_bytes: this.#size, sha256: this.#hash.digest('hex') };
  }
}
