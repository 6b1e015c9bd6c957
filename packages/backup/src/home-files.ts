/**
 * Archives agents' homes, whose programs may be running in them: the files change while they are read. No link is followed
 * on the path, and a file is copied with the size that it had when it was opened.
 */
import type { Dirent } from 'node:fs';
import { opendir, readlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { openInside, UnsafePlace, withFolder } from '@acp/kernel';
import type { ArchiveWriter } from './archive-writer.ts';

const MAX_DEPTH = 40;
const MAX_NAMES = 100_000;
const BLOCK_BYTES = 512;
const PIECE_BYTES = 128 * 1024;
/** A file larger than this with less than a tenth of it on disk was made to look large. */
const SPARSE_BYTES = 64 * 1024 * 1024;

interface LeftOut {
  path: string;
  reason: string;
}

/** Adds everything below the folder as `<name>/<path>`, with paths that a restore can recreate. */
export async function archiveFolder(
  archive: ArchiveWriter,
  { root, name }: { root: string; name: string },
  note: { file: (path: string, bytes: number, sha256: string) => void; left_out: (entry: LeftOut) => void },
  signal: AbortSignal,
): Promise<void> {
  const visit = async (below: string, depth: number): Promise<void> => {
    const add = async (entry: Dirent, folder: string): Promise<void> => {
      const place = posix.join(below, entry.name);
      let reason: string | null = null;
      if (entry.isFile()) reason = await archiveFile(archive, { root, name, path: place }, note.file);
      else if (entry.isSymbolicLink()) {
        const target = await readlink(posix.join(folder, entry.name)).catch(() => null);
        if (target !== null) await archive.link(posix.join(name, place), target);
      } else if (!entry.isDirectory()) reason = 'neither a file, a folder nor a link';
      else if (depth === MAX_DEPTH) reason = `more than ${MAX_DEPTH} folders deep`;
      else {
        // Even an empty one: git takes a folder without `refs` for no repository.
        await archive.folder(posix.join(name, place));
        await visit(place, depth + 1);
      }
      if (reason !== null) note.left_out({ path: posix.join(name, place), reason });
    };
    try {
      await eachIn(root, below, signal, add);
    } catch (error) {
      if (!(error instanceof Unlisted)) throw error;
      note.left_out({ path: posix.join(name, below), reason: error.message });
    }
  };
  await visit('.', 1);
}

/** Why the content of a folder, or the rest of it, is left out. */
class Unlisted extends Error {}

/**
 * Never builds a list of names, since an agent may create any number of them in a folder and in each of its parents.
 * @throws Unlisted
 */
async function eachIn(
  root: string,
  below: string,
  signal: AbortSignal,
  add: (entry: Dirent, folder: string) => Promise<void>,
): Promise<void> {
  const gone = (): never => {
    throw new Unlisted('not a folder any more');
  };
  await withFolder(root, below, async (folder) => {
    const entries = await opendir(folder).catch(gone);
    try {
      for (let looks = 1; ; looks += 1) {
        signal.throwIfAborted();
        // An agent may remove it in the meantime.
        const entry = await entries.read().catch(gone);
        if (entry === null) return;
        if (looks > MAX_NAMES) throw new Unlisted(`more than ${MAX_NAMES} names`);
        await add(entry, folder);
      }
    } finally {
      await entries.close();
    }
  }).catch((error: unknown) => (error instanceof UnsafePlace ? gone() : Promise.reject(error)));
}

/** @returns why the file is not in the archive; null if it is */
async function archiveFile(
  archive: ArchiveWriter,
  { root, name, path }: { root: string; name: string; path: string },
  added: (path: string, bytes: number, sha256: string) => void,
): Promise<string | null> {
  const file = await openInside(root, path).catch((error: unknown) => {
    if (error instanceof UnsafePlace) return null;
    throw error;
  });
  if (file === null) return 'gone, or no file any more';
  try {
    const { size, blocks, mode } = await file.stat();
    if (size > SPARSE_BYTES && blocks * BLOCK_BYTES < size / 10) return 'a sparse file';
    const entry = posix.join(name, path);
    const sha256 = await archive.file(entry, { size, mode: mode % 0o1000 }, exactly(file, size));
    added(entry, size, sha256);
    return null;
  } finally {
    await file.close();
  }
}

/** Exactly that many bytes: if the file shrinks in the meantime it is padded with zeros, if it grows the rest is ignored. */
async function* exactly(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  let at = 0;
  while (at < size) {
    const buffer = Buffer.alloc(Math.min(PIECE_BYTES, size - at));
    await file.read(buffer, 0, buffer.length, at);
    at += buffer.length;
    yield buffer;
  }
}
