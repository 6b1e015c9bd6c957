import { text as buffered } from 'node:stream/consumers';
import { type Logger, newId } from '@acp/kernel';
import { Meter } from './metered.ts';
import type { PutOptions, Storage, StoredObject } from './storage.ts';

/** Callers have failed already, often because the store does not respond: they don't wait for it once more. */
const DISCARD_MS = 2000;

/** Of a text in passing, which its reader takes into memory: the largest are answers of tools. */
const MOST_PASSING = 64 * 1024 * 1024;

/** Records keys that no row references (yet, or any more): core's table `storage_orphans`. */
interface KeyLedger {
  /** Called before the first byte is written. */
  reserve(keys: readonly string[]): Promise<void>;
  /** Claims unreferenced keys. @returns those whose bytes the caller deletes next */
  claim(keys: readonly string[]): Promise<string[]>;
  /** Called once their bytes are gone. */
  forget(keys: readonly string[]): Promise<void>;
}

interface FileStoreSources {
  storage: Storage;
  ledger: KeyLedger;
  logger?: Logger | undefined;
}

/** A file as described by its row: where its bytes are, and its name. */
export interface PlacedFile extends StoredObject {
  readonly storage_key: string;
  readonly filename: string;
  readonly content_type: string;
}

/** Texts handed from one process to another. */
interface PassingTexts {
  /** @returns the key for `get` */
  put(text: string): Promise<string>;
  /** Undefined if there is none. */
  get(key: string): Promise<string | undefined>;
}

/** Stores bytes for rows to come: each key is recorded as an orphan before its first byte is stored. */
export class FileStore {
  readonly #storage: Storage;
  readonly #ledger: KeyLedger;
  readonly #logger: Logger | undefined;

  constructor({ storage, ledger, logger }: FileStoreSources) {
    this.#storage = storage;
    this.#ledger = ledger;
    this.#logger = logger;
  }

  /** A new, unique key: `<folder>/<owner>/<id>`. */
  async reserve(folder: string, owner: string): Promise<string> {
    const key = `${folder}/${owner}/${newId()}`;
    await this.#ledger.reserve([key]);
    return key;
  }

  /** Stores under a reserved key. The row's transaction keeps it (`keepStorageKeys`); otherwise the sweep deletes it. */
  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject> {
    return this.#storage.put(key, body, options);
  }

  /**
   * Stores a body and has `keep` write its row in a transaction; a failure leaves nothing behind.
   * @param place the folder for this kind of file, and the owner's id below it
   */
  async putFile<T>(
    [folder, owner]: readonly [folder: string, owner: string],
    body: AsyncIterable<Uint8Array>,
    { filename, content_type, max_bytes }: Pick<PlacedFile, 'filename' | 'content_type'> & PutOptions,
    keep: (file: PlacedFile) => Promise<T>,
  ): Promise<T> {
    const storage_key = await this.reserve(folder, owner);
    try {
      const stored = await this.put(storage_key, body, { max_bytes, content_type });
      return await keep({ storage_key, filename, content_type, ...stored });
    } catch (error) {
      await this.discard([storage_key]);
      throw error;
    }
  }

  /** The same for bytes in memory. */
  async putBytes<T>(
    place: readonly [folder: string, owner: string],
    bytes: Uint8Array,
    about: Pick<PlacedFile, 'filename' | 'content_type'>,
    keep: (file: PlacedFile) => Promise<T>,
  ): Promise<T> {
    return this.putFile(place, oneChunk(bytes), { ...about, max_bytes: bytes.length }, keep);
  }

  /** Texts that will never have a row: the sweep deletes them with other orphans, after at least an hour. */
  passing(folder: string): PassingTexts {
    return {
      put: async (text) => {
        const bytes = Buffer.from(text);
        const key = await this.reserve(folder, 'passing');
        await this.put(key, oneChunk(bytes), { max_bytes: MOST_PASSING });
        return key;
      },
      get: async (key) => {
        const body = await this.#storage.get(key);
        return body && buffered(new Meter(MOST_PASSING).measure(body));
      },
    };
  }

  /**
   * Deletes the bytes of those keys that no row references, after a failure or when a row was deleted. Never throws: what fails
   * here is left to the sweep.
   */
  async discard(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    try {
      const claimed = await this.#ledger.claim(keys);
      const { gone, failure } = await this.#storage.deleteAll(claimed, AbortSignal.timeout(DISCARD_MS));
      await this.#ledger.forget(gone);
      if (failure !== undefined) throw failure;
    } catch (error) {
      this.#logger?.warn('stored files will be removed by the sweep', { keys, error });
    }
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}
