import { ReadingPace } from '@acp/kernel';

const LIMITS = { lines: 10_000, bytes: 8 * 1024 * 1024, chunks: 10_000 };
const NEWLINE = 0x0a;

/** Of the output of one program. */
export class Pace {
  readonly #reading = new ReadingPace(LIMITS);

  /** Counts what was read. @returns for how long, in milliseconds, nothing more should be */
  count(chunk: Uint8Array): number {
    let lines = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) lines += 1;
    return this.#reading.count({ lines, bytes: chunk.length });
  }
}
