/** Random numbers for a mix: the same seed gives the same numbers (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** The generator for the nth of many things under a seed. */
  static of(seed: number, n: number): Random {
    return new Random(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(n, 0x85ebca6b));
  }

  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(among: readonly T[]): T | undefined {
    return among[Math.floor(this.next() * among.length)];
  }

  weighted<T extends { weight: number }>(among: readonly T[]): T {
    let left = this.next() * among.reduce((sum, { weight }) => sum + weight, 0);
    return among.find(({ weight }) => (left -= weight) < 0) ?? among.at(-1)!;
  }
}
