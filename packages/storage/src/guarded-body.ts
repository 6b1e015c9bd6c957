/** Response bodies from a remote store: limited in number, timed out when stalled, with errors in the store's terms. */
import { Readable } from 'node:stream';
import { unavailable } from '@acp/kernel';

/** A store that has begun to respond but sends nothing for this long is considered gone. */
const SILENCE_MS = 15_000;
/** Times the limit of silence: after that, a store from which not even a byte a millisecond has come is too slow. */
const GRACE = 4;
/** Maximum number of concurrent bodies per owner: each occupies one of a limited number of connections. */
const BODIES_PER_OWNER = 32;

/** Counts open bodies by owner or reader, so that no one can take all connections. */
export class OpenBodies {
  readonly #counts = new Map<string, number>();
  readonly #most: number;

  constructor(most = BODIES_PER_OWNER) {
    this.#most = most;
  }

  /** @returns a function that frees the place. Throws `unavailable` if this owner or reader has too many. */
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

/** Passes the bytes through. Fails with the result of `fault`, and when the store stalls or drips while being read. */
export function guardedBody(body: Readable, { fault, closed, silence_ms = SILENCE_MS }: BodyGuard): Readable {
  const chunks = chunksOf(body, fault, silence_ms);
  return new Readable({
    read() {
      chunks.next().then(
        ({ done, value }) => this.push(done === true ? null : value),
        (error: Error) => this.destroy(error),
      );
    },
    // Not when the next bytes come: a reader who leaves does not wait for the store.
    destroy(error, done) {
      body.destroy();
      closed();
      done(error);
    },
  });
}

interface BodyGuard {
  fault: (error: unknown) => Error;
  /** Called once, at the end, for whatever reason. */
  closed: () => void;
  silence_ms?: number | undefined;
}

async function* chunksOf(
  body: Readable,
  fault: (error: unknown) => Error,
  silence_ms: number,
): AsyncGenerator<Uint8Array> {
  let timer: NodeJS.Timeout | undefined;
  let [since, waited_ms, bytes] = [0, 0, 0];
  // Timed while the reader waits for the store, not while the store waits for the reader.
  const watch = () => {
    since = performance.now();
    timer = setTimeout(() => body.destroy(new Error('the store stopped answering')), silence_ms).unref();
  };
  try {
    watch();
    for await (const chunk of body) {
      clearTimeout(timer);
      waited_ms += performance.now() - since;
      bytes += (chunk as Uint8Array).length;
      if (waited_ms > GRACE * silence_ms + bytes) throw new Error('the store is too slow');
      yield chunk as Uint8Array;
      watch();
    }
  } catch (error) {
    throw fault(error);
  } finally {
    clearTimeout(timer);
  }
}
