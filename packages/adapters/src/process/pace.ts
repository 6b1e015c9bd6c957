const BYTES_A_SECOND = 8 * 1024 * 1024;
const LINES_A_SECOND = 10_000;
/** Each is an event, however short. */
const CHUNKS_A_SECOND = 10_000;
const SECOND_MS = 1000;
const NEWLINE = 0x0a;

/**
 * How fast a program's output is read: more than this says nothing to anyone, and would keep the process busy for as long as the
 * program runs. While nothing is read the pipe fills up, and only the program waits.
 */
export class Pace {
  #begin = -Infinity;
  #bytes = 0;
  #lines = 0;
  #chunks = 0;

  /** Counts what was read. @returns for how long, in milliseconds, nothing more should be */
  count(chunk: Uint8Array): number {
    const now = performance.now();
    if (now - this.#begin >= SECOND_MS)
      [this.#begin, this.#bytes, this.#lines, this.#chunks] = [now, 0, 0, 0];
    this.#bytes += chunk.length;
    this.#chunks += 1;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) this.#lines += 1;
    const isFast =
      this.#bytes > BYTES_A_SECOND || this.#lines > LINES_A_SECOND || this.#chunks > CHUNKS_A_SECOND;
    return isFast ? this.#begin + SECOND_MS - now : 0;
  }
}
