/** The interface of all stores. Keys are paths with `/`, identical in each of them. */
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
  /** One byte more and the put fails with `too_large`, leaving nothing behind. */
  readonly max_bytes: number;
  readonly content_type?: string;
  /** Estimated size, if it may be very large: a bucket takes an object in a limited number of parts. */
  readonly expected_bytes?: number;
  /** Aborts the put, leaving nothing behind. */
  readonly signal?: AbortSignal;
}

export interface Deleted {
  readonly gone: string[];
  /** Why the other keys are not, if there are any. */
  readonly failure?: unknown;
}

/** First and last byte, inclusive; the caller ensures that they are within the object. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Objects are written completely or not at all: no reader and no crash ever leaves half an object under its key. All methods
 * throw `unavailable` if the store can't be reached or is full, and `invalid` for a bad key.
 */
export interface Storage {
  readonly kind: 'local' | 's3';
  /** Stores the stream, replacing an existing object. Throws `too_large`, or whatever the body throws. */
  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject>;
  /** Undefined if there is none. The caller must read a body to its end or destroy it. Throws the signal's reason. */
  get(key: string, range?: ByteRange, signal?: AbortSignal): Promise<Readable | undefined>;
  /** Undefined if there is none. */
  size(key: string): Promise<number | undefined>;
  exists(key: string): Promise<boolean>;
  /** Succeeds if there is nothing to delete. */
  delete(key: string, signal?: AbortSignal): Promise<void>;
  /** The same for up to 1,000 keys, in as few requests as possible. What fails is in the result: the others are gone. */
  deleteAll(keys: readonly string[], signal?: AbortSignal): Promise<Deleted>;
  /** Lists everything below a folder (with a trailing `/`), unordered and one at a time. */
  list(folder: string): AsyncIterable<ListedObject>;
  /** Removes the remains of unfinished puts that began before then, which are not under any key. */
  removeLeftovers(begunBefore: Date): Promise<void>;
  /**
   * Identifies this store (decisions 6): processes with separate folders but the same database would each miss the other's
   * files. Null if the store is identified by its address.
   */
  markerId(): Promise<string | null>;
  close(): void;
}

/** Deletes `keys` one by one in a few lanes. One that can't be deleted does not keep the others. */
export async function deleteEach(
  keys: readonly string[],
  lanes: number,
  deleteOne: (key: string) => Promise<void>,
): Promise<Deleted> {
  const left = keys.values();
  const gone: string[] = [];
  const failures: unknown[] = [];
  const work = async () => {
    for (const key of left)
      await deleteOne(key).then(
        () => gone.push(key),
        (error: unknown) => failures.push(error),
      );
  };
  await Promise.all(Array.from({ length: lanes }, work));
  return failures.length > 0 ? { gone, failure: failures[0] } : { gone };
}

const MAX_KEY_BYTES = 900;
const MAX_SEGMENT_BYTES = 240;

/** False for anything that might not name an object: no empty, dotted or odd segments. */
export const isKey = (key: string): boolean =>
  Buffer.byteLength(key) <= MAX_KEY_BYTES &&
  key.isWellFormed() &&
  !/[\p{Cc}\\]/u.test(key) &&
  key
    .split('/')
    .every((segment) => !/^\.{0,2}$/.test(segment) && Buffer.byteLength(segment) <= MAX_SEGMENT_BYTES);

/** Throws `invalid` if the key can't name an object. */
export function checkKey(key: string): void {
  if (!isKey(key)) throw invalid('invalid storage key');
}

/** Throws `invalid` unless it is empty (everything) or a folder with a trailing `/`. */
export function checkFolder(folder: string): void {
  if (folder === '') return;
  if (!folder.endsWith('/')) throw invalid('invalid storage folder');
  checkKey(folder.slice(0, -1));
}
