import { lstat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { invalid, UnsafePlace, withFolder, writeInside } from '@acp/kernel';
import type { HeldFolder } from '../programs/held-folder.ts';
import type { WorkspaceFiles } from '../verbs/verb.ts';

/** As git stores files. */
const MODE = 0o644;

/**
 * Writes files for an agent into its issue's workspace, where its program may have put anything anywhere: no link is
 * followed or replaced, and no folder is replaced.
 */
export function workspaceFiles({ here }: Pick<HeldFolder, 'here'>): WorkspaceFiles {
  return {
    write: async (path, bytes) => {
      await assertFree(here, path);
      await writeInside(here, path, once(bytes), MODE).catch((err: unknown) => {
        throw err instanceof UnsafePlace ? invalid(`${path}: ${err.message}`) : err;
      });
    },
  };
}

/** Throws if something blocks the file: anything but folders on its path, anything but a file in its place. */
async function assertFree(here: string, path: string): Promise<void> {
  const names = path.split('/');
  for (const [at, name] of names.entries()) {
    const place = posix.join(...names.slice(0, at + 1));
    const isLast = at === names.length - 1;
    const found = await withFolder(here, posix.dirname(place), async (folder) =>
      lstat(join(folder, name)).catch(() => null),
    ).catch((err: unknown) => {
      throw err instanceof UnsafePlace ? invalid(`${place}: ${err.message}`) : err;
    });
    if (found === null) return;
    if (isLast ? !found.isFile() : !found.isDirectory())
      throw invalid(`${place} in the workspace is not a ${isLast ? 'file' : 'folder'}`);
  }
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
