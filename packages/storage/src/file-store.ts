import { doomStorageKeys, forgetStorageKeys, reserveStorageKeys, type StoredFile } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { type Logger, newId } from '@acp/kernel';
import type { PutOptions, Storage, StoredObject } from '@acp/storage';

export interface FileStoreSources {
  database: Database;
  storage: Storage;
  logger?: Logger | undefined;
}

/** Bytes on their way to a row: each under a key that is written down as an orphan's before the first byte is stored. */
export class FileStore {
  readonly #database: Database;
  readonly #storage: Storage;
  readonly #logger: Logger | undefined;

  constructor({ database, storage, logger }: FileStoreSources) {
    this.#database = database;
    this.#storage = storage;
    this.#logger = logger;
  }

  /** A key that nothing has had before: `<folder>/<owner>/<id>`. */
  async reserve(folder: string, owner: string): Promise<string> {
    const key = `${folder}/${owner}/${newId()}`;
    await reserveStorageKeys(this.#database.db, [key]);
    return key;
  }

  /** Stores under a reserved key. The row's transaction keeps it (`keepStorageKeys`); otherwise the sweep deletes it. */
  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject> {
    return this.#storage.put(key, body, options);
  }

  /**
   * Stores bytes that are in memory, and has `keep` write their row in its transaction; what fails leaves nothing.
   * @param folder of their kind, below which the owner's id comes
   */
  async putBytes<T>(
    [folder, owner]: readonly [folder: string, owner: string],
    bytes: Uint8Array,
    { filename, content_type }: Pick<StoredFile, 'filename' | 'content_type'>,
    keep: (file: StoredFile) => Promise<T>,
  ): Promise<T> {
    const storage_key = await this.reserve(folder, owner);
    try {
      const stored = await this.put(storage_key, oneChunk(bytes), { max_bytes: bytes.length, content_type });
      return await keep({ storage_key, filename, content_type, ...stored });
    } catch (error) {
      await this.discard([storage_key]);
      throw error;
    }
  }

  /**
   * Deletes the bytes of those keys that no row has: after a failure, or when the row was deleted. Never throws: what
   * fails here is left to the sweep.
   */
  async discard(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    try {
      const doomed = await transaction(this.#database, async (tx) => doomStorageKeys(tx, keys));
      for (const key of doomed) await this.#storage.delete(key);
      await forgetStorageKeys(this.#database.db, doomed);
    } catch (error) {
      this.#logger?.warn('stored files are left to the sweep', { keys, error });
    }
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
