import { setImmediate as nextTurn } from 'node:timers/promises';
import { AdapterError } from '../adapter-error.ts';

/** No model's answer is this long; an endpoint that never stops is cut off here. */
const MOST_STREAMED = 64 * 1024 * 1024;
/** Of an answer in one piece, and of one event of a stream: the library parses either in one go. */
const MOST_WHOLE = 16 * 1024 * 1024;
const MOST_OF_EVENT = 2 * 1024 * 1024;
const MOST_EVENTS = 250_000;
/** Small events cost the library more than their bytes: after this many others get a turn. */
const BYTES_A_TURN = 16 * 1024;

/**
 * Reads a body in pieces that keep no one else waiting, until it is longer than any model's answer.
 * @param read the body's chunks; undefined at its end @param stream whether it consists of events
 */
export function boundedBody(
  read: () => Promise<Uint8Array | undefined>,
  stream: boolean,
): () => Promise<Uint8Array | undefined> {
  const events = new Events();
  let rest: Uint8Array = new Uint8Array();
  let size = 0;
  let turn = 0;
  return async () => {
    if (turn >= BYTES_A_TURN) {
      turn = 0;
      await nextTurn();
    }
    if (rest.length === 0) {
      const chunk = await read();
      if (chunk === undefined) return undefined;
      rest = chunk;
    }
    const piece = rest.subarray(0, BYTES_A_TURN);
    rest = rest.subarray(BYTES_A_TURN);
    turn += piece.length;
    size += piece.length;
    const isTooLong = stream ? size > MOST_STREAMED || events.exceed(piece) : size > MOST_WHOLE;
    if (isTooLong) throw new AdapterError('permanent', 'the answer is longer than any model gives');
    return piece;
  };
}

const LF = 0x0a;
const CR = 0x0d;

/** Counts and measures the events of a stream: each ends with an empty line. */
class Events {
  #count = 0;
  #length = 0;
  #last = 0;

  /** Reads on. @returns whether one is too long by now, or they are too many */
  exceed(piece: Uint8Array): boolean {
    let greatest = this.#length;
    for (const byte of piece) {
      const isEnd = byte === LF || byte === CR;
      // Two ends of lines in a row, the two bytes of one not counting as two.
      if (isEnd && (this.#last === LF || (this.#last === CR && byte === CR))) {
        this.#count += 1;
        this.#length = 0;
      } else this.#length += 1;
      this.#last = byte;
      if (this.#length > greatest) greatest = this.#length;
    }
    return greatest > MOST_OF_EVENT || this.#count > MOST_EVENTS;
  }
}
