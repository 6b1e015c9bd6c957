/**
 * Finds wherever any of many texts stands in another, in time that depends on the length of that one alone: neither on how many are
 * looked for, nor on what they have in common with each other or with it (Aho and Corasick).
 */
export interface Span {
  start: number;
  end: number;
}

/** No text may be shorter. */
export const LEAST_LENGTH = 8;
/** So many characters are looked at together, to pass over places where no text begins. */
const BLOCK = 4;
/** Past a block that none of the texts begins with, or has so near to its beginning. */
const FARTHEST = LEAST_LENGTH - BLOCK + 1;

export class TextFinder {
  /**
   * Nodes are beginnings of the texts; 0 is the empty one. A node's first child is the next node, if `#codes` has the character that
   * leads there, and not -1; further ones are in `#branches`, by their characters.
   */
  readonly #codes: Int32Array;
  readonly #branches = new Map<number, Map<number, number>>();
  /** The longest other beginning that a node ends with. */
  readonly #fails: Int32Array;
  /** The length of the longest text that a node ends with; 0: none. */
  readonly #lengths: Int32Array;
  /** By the hash of a block at the end of LEAST_LENGTH characters: after how many more of them a text may begin. */
  readonly #skips: Uint8Array;
  #nodes = 1;

  constructor(texts: Iterable<string>) {
    const all = [...texts];
    const size = all.reduce((sum, { length }) => sum + length, 2);
    this.#codes = new Int32Array(size).fill(-1);
    this.#fails = new Int32Array(size);
    this.#lengths = new Int32Array(size);
    // Large enough that few blocks of other texts have the hash of one of these.
    const hashes = 2 ** Math.ceil(Math.log2(64 * all.length));
    this.#skips = new Uint8Array(Math.max(1024, Math.min(hashes, 2 ** 18))).fill(FARTHEST);
    for (const text of all) this.#insert(text);
    this.#link();
  }

  /** Where the texts stand, in order; those that overlap are one, with each other and with `first`. */
  find(text: string, first?: Span): Span[] {
    const found: Span[] = first ? [{ ...first }] : [];
    let node = 0;
    for (let at = 0; at < text.length; at += 1) {
      if (node === 0) at = this.#mayBegin(text, at);
      if (at === text.length) break;
      node = this.#next(node, text.charCodeAt(at));
      const length = this.#lengths[node]!;
      if (length > 0) add(found, { start: at + 1 - length, end: at + 1 });
    }
    return found;
  }

  /** Where a text may begin next, from there on; the end, if none does. */
  #mayBegin(text: string, from: number): number {
    const last = text.length - LEAST_LENGTH;
    let at = from;
    while (at <= last) {
      const skip = this.#skips[this.#hash(text, at + LEAST_LENGTH - BLOCK)]!;
      if (skip === 0) return at;
      at += skip;
    }
    return text.length;
  }

  #hash(text: string, at: number): number {
    let hash = text.charCodeAt(at);
    for (let next = at + 1; next < at + BLOCK; next += 1) hash = Math.imul(hash, 37) + text.charCodeAt(next);
    return hash & (this.#skips.length - 1);
  }

  #next(from: number, code: number): number {
    let node = from;
    for (;;) {
      const child = this.#child(node, code);
      if (child !== 0 || node === 0) return child;
      node = this.#fails[node]!;
    }
  }

  /** 0: there is none. */
  #child(node: number, code: number): number {
    return this.#codes[node + 1] === code ? node + 1 : (this.#branches.get(node)?.get(code) ?? 0);
  }

  #insert(text: string): void {
    for (let skip = 0; skip < FARTHEST; skip += 1) {
      const hash = this.#hash(text, FARTHEST - 1 - skip);
      this.#skips[hash] = Math.min(this.#skips[hash]!, skip);
    }
    let node = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      node = this.#child(node, code) || this.#grow(node, code);
    }
    this.#lengths[node] = text.length;
  }

  #grow(node: number, code: number): number {
    const child = this.#nodes;
    this.#nodes += 1;
    if (child === node + 1) this.#codes[child] = code;
    else {
      const branches = this.#branches.get(node) ?? new Map<number, number>();
      this.#branches.set(node, branches.set(code, child));
    }
    return child;
  }

  /** Level by level: what a node ends with is shorter. */
  #link(): void {
    let level = [0];
    while (level.length > 0) {
      const below: number[] = [];
      const link = (node: number, code: number, child: number): void => {
        const fail = node === 0 ? 0 : this.#next(this.#fails[node]!, code);
        this.#fails[child] = fail;
        this.#lengths[child] ||= this.#lengths[fail]!;
        below.push(child);
      };
      for (const node of level) {
        const code = this.#codes[node + 1]!;
        if (code !== -1) link(node, code, node + 1);
        for (const [other, child] of this.#branches.get(node) ?? []) link(node, other, child);
      }
      level = below;
    }
  }
}

/** Adds what ends after all that were added, and may begin before some of them. */
function add(found: Span[], { start, end }: Span): void {
  const whole = { start, end };
  while (found.length > 0 && found.at(-1)!.end > start) {
    const overlapped = found.pop()!;
    whole.start = Math.min(whole.start, overlapped.start);
    whole.end = Math.max(whole.end, overlapped.end);
  }
  found.push(whole);
}
