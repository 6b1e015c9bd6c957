/**
 * Objects as files in a folder: `objects/<key>`, and `tmp/` for files being written. A put writes a temporary file, syncs it
 * to disk and renames it, so after a crash an object is either complete or absent.
 */
import { constants } from 'node:fs';
import { open, opendir, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { conflict, freeBytes, makeFolders, newId, ServiceError, unavailable } from '@acp/kernel';
import { readMarker } from './marker.ts';
import { Meter } from './metered.ts';
import { checkFolder, checkKey, deleteEach } from './storage.ts';
import { storeUnavailable } from './store-unavailable.ts';
import type { ByteRange, Deleted, ListedObject, PutOptions, Storage, StoredObject } from './storage.ts';

// A delete that prunes an empty folder may race with a put that has just created it.
const RENAME_ATTEMPTS = 5;
/** Bytes that are written between two looks at the free space. */
const LOOK_EVERY = 16 * 1024 * 1024;

export class LocalStorage implements Storage {
  readonly kind = 'local';
  readonly #folder: string;
  readonly #objects: string;
  readonly #tmp: string;
  readonly #minFree: number;

  /**
   * @param min_free bytes of its disk that puts leave free: companies have no quota, and a database on the same disk must still be
   * able to write, if only to delete their files
   */
  constructor(folder: string, { min_free = 0 }: { min_free?: number } = {}) {
    this.#minFree = min_free;
    this.#folder = folder;
    this.#objects = join(folder, 'objects');
    this.#tmp = join(folder, 'tmp');
  }

  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject> {
    const path = this.#pathOf(key);
    const meter = new Meter(options.max_bytes);
    const temporary = join(this.#tmp, newId());
    try {
      await this.#makeTmp();
      await writeFile(temporary, this.#withinRoom(meter.measure(body, options.signal)));
      await this.#moveInto(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw storeError(error);
    }
    return meter.result();
  }

  async get(key: string, range?: ByteRange): Promise<Readable | undefined> {
    const file = await this.#open(key);
    return file?.createReadStream(range);
  }

  async size(key: string): Promise<number | undefined> {
    const file = await this.#open(key);
    if (file === undefined) return undefined;
    try {
      return (await file.stat()).size;
    } finally {
      await file.close();
    }
  }

  async exists(key: string): Promise<boolean> {
    return (await this.size(key)) !== undefined;
  }

  async delete(key: string): Promise<void> {
    const path = this.#pathOf(key);
    try {
      await unlink(path);
    } catch (error) {
      if (isAbsence(error)) return;
      throw storeError(error);
    }
    await this.#prune(dirname(path));
  }

  async deleteAll(keys: readonly string[]): Promise<Deleted> {
    for (const key of keys) checkKey(key);
    return deleteEach(keys, 1, async (key) => this.delete(key));
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    checkFolder(folder);
    const entries = await opendir(join(this.#objects, folder)).catch((error: unknown) => {
      if (isAbsence(error)) return [];
      throw storeError(error);
    });
    // One at a time: a folder may contain a million entries.
    for await (const entry of entries) {
      const key = `${folder}${entry.name}`;
      if (entry.isDirectory()) yield* this.list(`${key}/`);
      else if (entry.isFile()) yield* describe(join(this.#objects, key), key);
    }
  }

  async removeLeftovers(begunBefore: Date): Promise<void> {
    const names = await readdir(this.#tmp).catch(() => []);
    for (const name of names) {
      const path = join(this.#tmp, name);
      const { mtime } = await stat(path).catch(() => ({ mtime: begunBefore }));
      if (mtime < begunBefore) await rm(path, { force: true });
    }
  }

  async markerId(): Promise<string> {
    return readMarker(this.#folder);
  }

  close(): void {
    // Nothing is kept open.
  }

  async *#withinRoom(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    let unseen = LOOK_EVERY;
    for await (const chunk of chunks) {
      unseen += chunk.byteLength;
      if (unseen >= LOOK_EVERY) {
        unseen = 0;
        if ((await freeBytes(this.#tmp)) < this.#minFree)
          throw unavailable('the disk of the storage is nearly full');
      }
      yield chunk;
    }
  }

  async #makeTmp(): Promise<void> {
    try {
      await makeFolders(this.#tmp, 0o700);
    } catch (error) {
      throw storeUnavailable(error);
    }
  }

  /** The key's segments are neither dots nor empty, so the path can't leave the folder. */
  #pathOf(key: string): string {
    checkKey(key);
    return join(this.#objects, key);
  }

  async #open(key: string): Promise<FileHandle | undefined> {
    let file: FileHandle | undefined;
    try {
      // A link in place of an object isn't ours, and opening a pipe would block forever.
      file = await open(this.#pathOf(key), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      if ((await file.stat()).isFile()) return file;
      await file.close();
      return undefined;
    } catch (error) {
      await file?.close();
      if (isAbsence(error)) return undefined;
      throw storeError(error);
    }
  }

  async #moveInto(temporary: string, path: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const made = await makeFolders(dirname(path), 0o700);
      try {
        await rename(temporary, path);
        await syncFolders(dirname(path), made === undefined ? dirname(path) : dirname(made));
        return;
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || attempt === RENAME_ATTEMPTS) throw error;
      }
    }
  }

  /** Folders are not objects: an empty one would only block a file of that name. */
  async #prune(folder: string): Promise<void> {
    for (let path = folder; path !== this.#objects; path = dirname(path)) {
      try {
        await rmdir(path);
      } catch {
        return;
      }
    }
  }
}

async function writeFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of chunks) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A new name is only durable once its folder is synced, and so on up to the first folder that already existed. */
async function syncFolders(from: string, upTo: string): Promise<void> {
  for (let path = from; ; path = dirname(path)) {
    const folder = await open(path, constants.O_RDONLY);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
    if (path === upTo || path === dirname(path)) return;
  }
}

async function* describe(path: string, key: string): AsyncIterable<ListedObject> {
  try {
    const { size, mtime } = await stat(path);
    yield { key, size_bytes: size, updated_at: mtime };
  } catch (error) {
    // Deleted while the list was being read.
    if (!isAbsence(error)) throw storeError(error);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP'].includes(String(codeOf(error)));
}

const IN_THE_WAY = ['ENOTDIR', 'EISDIR', 'EEXIST', 'ENOTEMPTY'];
const OF_THE_STORE = [
  'ENOSPC',
  'EDQUOT',
  'EFBIG',
  'EROFS',
  'EIO',
  'EACCES',
  'EPERM',
  'EMFILE',
  'ENFILE',
  'ENOENT',
];

/** Translates file system errors into the store's; errors thrown by the body are kept. */
function storeError(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  const code = String(codeOf(error));
  if (IN_THE_WAY.includes(code)) return conflict('a file or folder with that name is in the way');
  if (OF_THE_STORE.includes(code)) return storeUnavailable(error);
  return error;
}
