const SECOND_MS = 1000;

/** In one second. A chunk is what is read at once: each is an event, however short. */
interface PaceLimits {
  lines: number;
  bytes: number;
  chunks: number;
}

/**
 * How fast a program's output is read: more than this says nothing to anyone, and would keep the process busy for as long as the
 * program runs. While nothing is read the pipe fills up, and only the program waits.
 */
export class ReadingPace {
  readonly #most: PaceLimits;
  #begin = -Infinity;
  #read: PaceLimits = { lines: 0, bytes: 0, chunks: 0 };

  constructor(most: PaceLimits) {
    this.#most = most;
  }

  /** Counts a chunk. @returns for how long, in milliseconds, nothing more should be read */
  count({ lines, bytes }: Omit<PaceLimits, 'chunks'>): number {
    const now = performance.now();
    if (now - this.#begin >= SECOND_MS) {
      this.#begin = now;
      this.#read = { lines: 0, bytes: 0, chunks: 0 };
    }
    this.#read.lines += lines;
    this.#read.bytes += bytes;
    this.#read.chunks += 1;
    const isFast =
      this.#read.lines > this.#most.lines ||
      this.#read.bytes > this.#most.bytes ||
      this.#read.chunks > this.#most.chunks;
    return isFast ? this.#begin + SECOND_MS - now : 0;
  }
}
