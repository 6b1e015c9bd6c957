import { hash } from 'node:crypto';

const FREE = 0;
const REMOVED = -1;
/** So many that one key is taken for one of a million others once in 280 million times. */
const HASH_BYTES = 6;

/**
 * Keys of the storage, of which there may be millions: 16 to 32 bytes for each, outside of V8's heap, and once again half of that while
 * it grows. Open addressing: a key's hash is in the first place from its own on that was free. Keys are removed only once all are in.
 */
export class KeySet {
  #places = new Float64Array(1024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: string): boolean {
    const sum = sumOf(key);
    return this.#places[this.#find(sum)] === sum;
  }

  add(key: string): void {
    if (this.#size * 2 >= this.#places.length) this.#grow();
    this.#put(sumOf(key));
  }

  delete(key: string): void {
    const sum = sumOf(key);
    const place = this.#find(sum);
    if (this.#places[place] !== sum) return;
    this.#places[place] = REMOVED;
    this.#size -= 1;
  }

  #put(sum: number): void {
    const place = this.#find(sum);
    if (this.#places[place] === sum) return;
    this.#places[place] = sum;
    this.#size += 1;
  }

  /** Where it is, or would be. */
  #find(sum: number): number {
    const places = this.#places;
    let place = sum % places.length;
    while (places[place] !== FREE && places[place] !== sum) place = (place + 1) % places.length;
    return place;
  }

  #grow(): void {
    const former = this.#places;
    this.#places = new Float64Array(former.length * 2);
    this.#size = 0;
    for (const sum of former) if (sum !== FREE && sum !== REMOVED) this.#put(sum);
  }
}

/** Neither of the marks. */
const sumOf = (key: string): number => hash('sha256', key, 'buffer').readUIntBE(0, HASH_BYTES) + 1;
