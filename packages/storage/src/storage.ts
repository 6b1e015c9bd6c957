/** What every store offers, whatever it is made of. Keys are paths with `/`, the same in all of them. */
import type { Readable } from 'node:stream';
import { invalid } from '@acp/kernel';

export interface StoredObject {
  readonly size_bytes: number;
  /** Hex. */
  readonly sha256: string;
}

export interface ListedObject {
  readonly key: string;
  readonly size_bytes: number;
  readonly updated_at: Date;
}

export interface PutOptions {
  /** One byte more and the put fails with `too_large`; nothing stays behind. */
  readonly max_bytes: number;
  readonly content_type?: string;
  /** About how many will come, where that may be a great many: a bucket takes an object in a limited number of parts. */
  readonly expected_bytes?: number;
  /** Ends the put; nothing stays behind. */
  readonly signal?: AbortSignal;
}

/** First and last byte, both included; the caller knows that they lie within the object. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Objects are written whole or not at all: a reader never meets half of one, nor does a crash leave half of one under
 * its key. All methods throw `unavailable` when the store can't be reached or is full, and `invalid` for a bad key.
 */
export interface Storage {
  readonly kind: 'local' | 's3';
  /** Streams the bytes in, in the place of what lay there. Throws `too_large`, or what the body itself threw. */
  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject>;
  /** Undefined when there is nothing. The caller reads a body to its end or destroys it. */
  get(key: string, range?: ByteRange, signal?: AbortSignal): Promise<Readable | undefined>;
  /** Undefined when there is nothing. */
  size(key: string): Promise<number | undefined>;
  exists(key: string): Promise<boolean>;
  /** What is not there is deleted already. */
  delete(key: string): Promise<void>;
  /** Everything below a folder, which is written with its last `/`, in no order and one after the other. */
  list(folder: string): AsyncIterable<ListedObject>;
  /** Removes what puts that were begun before then and never ended have left, outside of any key. */
  removeLeftovers(begunBefore: Date): Promise<void>;
  /**
   * Who this store is (decisions 6): processes with folders of their own under the same database would each miss the
   * other's files. Null where the store is one by its address.
   */
  markerId(): Promise<string | null>;
  close(): void;
}

const MAX_KEY_BYTES = 900;
const MAX_SEGMENT_BYTES = 240;

/** Throws `invalid` for what could name something else than an object of its own: no empty, dotted or odd segments. */
export function checkKey(key: string): void {
  const bad =
    key === '' ||
    Buffer.byteLength(key) > MAX_KEY_BYTES ||
    !key.isWellFormed() ||
    /[\p{Cc}\\]/u.test(key) ||
    key
      .split('/')
      .some((segment) => /^\.{0,2}$/.test(segment) || Buffer.byteLength(segment) > MAX_SEGMENT_BYTES);
  if (bad) throw invalid('invalid storage key');
}

/** Throws `invalid` unless it is empty (everything) or a folder with its last `/`. */
export function checkFolder(folder: string): void {
  if (folder === '') return;
  if (!folder.endsWith('/')) throw invalid('invalid storage folder');
  checkKey(folder.slice(0, -1));
}
