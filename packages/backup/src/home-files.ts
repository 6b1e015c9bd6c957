/**
 * Homes of agents, whose programs may be at work in them: what lies there changes while it is read. No link is followed
 * on the way, and a file is copied with the size that it had when it was opened.
 */
import { opendir, readlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { openInside, UnsafePlace, withFolder } from '@acp/kernel';
import type { ArchiveWriter } from './archive-writer.ts';

const MAX_DEPTH = 40;
const MAX_NAMES = 100_000;
const BLOCK_BYTES = 512;
/** A larger file of which less than a tenth is on the disk was made to look large. */
const SPARSE_BYTES = 64 * 1024 * 1024;

export interface LeftOut {
  path: string;
  reason: string;
}

interface Names {
  files: string[];
  links: { name: string; target: string }[];
  folders: string[];
  full: boolean;
}

/** Adds all that lies below the folder as `<name>/<path>`, with paths that a restore can make again. */
export async function archiveFolder(
  archive: ArchiveWriter,
  { root, name }: { root: string; name: string },
  note: { file: (path: string, bytes: number, sha256: string) => void; left_out: (entry: LeftOut) => void },
  signal: AbortSignal,
): Promise<void> {
  const visit = async (below: string, depth: number): Promise<void> => {
    signal.throwIfAborted();
    const names = await namesIn(root, below).catch(() => null);
    if (names === null)
      return note.left_out({ path: posix.join(name, below), reason: 'not a folder any more' });
    if (names.full) note.left_out({ path: posix.join(name, below), reason: `more than ${MAX_NAMES} names` });
    for (const { name: link, target } of names.links)
      await archive.link(posix.join(name, below, link), target);
    for (const file of names.files) {
      const path = posix.join(below, file);
      const reason = await archiveFile(archive, { root, name, path }, note.file);
      if (reason !== null) note.left_out({ path: posix.join(name, path), reason });
    }
    for (const folder of names.folders) {
      const path = posix.join(below, folder);
      if (depth < MAX_DEPTH) await visit(path, depth + 1);
      else note.left_out({ path: posix.join(name, path), reason: `more than ${MAX_DEPTH} folders deep` });
    }
  };
  await visit('.', 1);
}

async function namesIn(root: string, below: string): Promise<Names> {
  const names: Names = { files: [], links: [], folders: [], full: false };
  await withFolder(root, below, async (folder) => {
    let looks = 0;
    for await (const entry of await opendir(folder)) {
      looks += 1;
      if (looks > MAX_NAMES) {
        names.full = true;
        return;
      }
      if (entry.isFile()) names.files.push(entry.name);
      else if (entry.isDirectory()) names.folders.push(entry.name);
      else if (entry.isSymbolicLink()) {
        const target = await readlink(posix.join(folder, entry.name)).catch(() => null);
        if (target !== null) names.links.push({ name: entry.name, target });
      }
    }
  });
  return names;
}

/** @returns why the file is not in the archive; null when it is */
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

/** So many bytes: what was cut off meanwhile is filled up with zeros, what was added is left. */
async function* exactly(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  let at = 0;
  while (at < size) {
    const buffer = Buffer.alloc(Math.min(1024 * 1024, size - at));
    await file.read(buffer, 0, buffer.length, at);
    at += buffer.length;
    yield buffer;
  }
}
