/** What comes out of a store over the network: bounded in number and in silence, its faults in the words of a store. */
import { Readable } from 'node:stream';
import { unavailable } from '@acp/kernel';

/** A store that has begun to answer and says nothing for so long has gone away. */
const SILENCE_MS = 30_000;
/** Bodies of one owner that are read at once: each holds a connection, and there are not many. */
const BODIES_PER_OWNER = 32;

/** Counts bodies by whose they are, or by who reads them, so that nobody takes every connection. */
export class OpenBodies {
  readonly #counts = new Map<string, number>();
  readonly #most: number;

  constructor(most = BODIES_PER_OWNER) {
    this.#most = most;
  }

  /** @returns what gives the place back. Throws `unavailable` when there are enough of this owner or reader. */
  take(owner: string): () => void {
    const count = this.#counts.get(owner) ?? 0;
    if (count >= this.#most) throw unavailable('too many files are being read at once');
    this.#counts.set(owner, count + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = (this.#counts.get(owner) ?? 1) - 1;
      if (left === 0) this.#counts.delete(owner);
      else this.#counts.set(owner, left);
    };
  }
}

/** The same bytes. Fails with what `fault` makes of an error, and when the store falls silent while it is read. */
export function guardedBody(body: Readable, { fault, closed, silence_ms = SILENCE_MS }: BodyGuard): Readable {
  const guarded = Readable.from(chunksOf(body, fault, silence_ms), { objectMode: false });
  // Also of one that nobody began to read.
  guarded.once('close', () => {
    body.destroy();
    closed();
  });
  return guarded;
}

interface BodyGuard {
  fault: (error: unknown) => Error;
  /** Once, at the end, whatever it was. */
  closed: () => void;
  silence_ms?: number;
}

async function* chunksOf(
  body: Readable,
  fault: (error: unknown) => Error,
  silence_ms: number,
): AsyncGenerator<Uint8Array> {
  let timer: NodeJS.Timeout | undefined;
  // Runs while the reader waits for the store, not while the store waits for the reader.
  const watch = () => {
    timer = setTimeout(() => body.destroy(new Error('the store fell silent')), silence_ms).unref();
  };
  try {
    watch();
    for await (const chunk of body) {
      clearTimeout(timer);
      yield chunk as Uint8Array;
      watch();
    }
  } catch (error) {
    throw fault(error);
  } finally {
    clearTimeout(timer);
  }
}
