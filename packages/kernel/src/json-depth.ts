/** Maximum nesting of JSON from outside: the code that walks it later is recursive. */
export const MAX_JSON_DEPTH = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_ENDS = new Set([0x0a, 0x0d]);
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/**
 * Measures how deeply JSON is nested from its bytes, before anything parses it: a megabyte of brackets would become as many
 * arrays. Valid JSON has no line break inside a string, so every line begins outside of one; in event streams, where lines
 * are messages, nothing carries over.
 */
export class JsonDepth {
  #depth = 0;
  #inText = false;
  #escaped = false;

  /** @returns the maximum depth within this chunk of UTF-8; chunks may end anywhere. */
  read(chunk: Uint8Array): number {
    let greatest = this.#depth;
    for (const byte of chunk) {
      if (LINE_ENDS.has(byte)) this.#inText = this.#escaped = false;
      else if (this.#inText) this.#readInText(byte);
      else if (byte === QUOTE) this.#inText = true;
      else if (OPENING.has(byte)) greatest = Math.max(greatest, ++this.#depth);
      else if (CLOSING.has(byte)) this.#depth = Math.max(0, this.#depth - 1);
    }
    return greatest;
  }

  #readInText(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#inText = false;
  }
}

/** For JSON that is in memory as a whole. */
export function isNestedDeeper(json: string, limit: number): boolean {
  return new JsonDepth().read(Buffer.from(json)) > limit;
}
