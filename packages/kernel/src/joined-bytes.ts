const LEAST_BYTES = 1024;
const NONE = Buffer.alloc(0);

/**
 * Bytes that come in pieces, joined as they come: their sender chooses the size of the pieces, and one of a single byte, kept until the
 * last one is there, takes hundreds.
 */
export class JoinedBytes {
  #room: Buffer = NONE;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#room.length) {
      const room = Buffer.allocUnsafe(Math.max(LEAST_BYTES, 2 * this.#length, length));
      this.#room.copy(room, 0, 0, this.#length);
      this.#room = room;
    }
    this.#room.set(piece, this.#length);
    this.#length = length;
  }

  /** All of them so far; those that follow are joined anew. */
  take(): Buffer {
    const bytes = this.#room.subarray(0, this.#length);
    this.#room = NONE;
    this.#length = 0;
    return bytes;
  }

  /** The same with a last one, which is not copied if it is the only one. */
  takeWith(last: Uint8Array): Buffer {
    if (this.#length === 0) return Buffer.from(last.buffer, last.byteOffset, last.byteLength);
    this.add(last);
    return this.take();
  }
}
