import type { Readable } from 'node:stream';
import type { BackupHeader, BackupTrailer } from '@acp/contract';
import { storedFileTables } from '@acp/db';
import { CopyRows } from './copy-rows.ts';
import type { BackupKeys } from './frames.ts';
import { KeySet } from './key-set.ts';
import { type MissingFiles, type NamedFile, noneMissing, noteMissing } from './named-files.ts';
import { readArchive, readRows } from './read-archive.ts';

const STORAGE = 'storage/';

export interface VerifiedBackup {
  header: BackupHeader;
  trailer: BackupTrailer;
  /** Files that its rows name and that it does not contain: the rest of it can be restored. */
  missing: MissingFiles;
}

/**
 * Reads a backup as a restore would, without changing anything; and its rows, which come first, once more: only its end says in
 * which column a row names its file.
 * @param open opens the file from its start
 * @param tell is given all that are missing, some at a time
 * @throws invalid if it could not be restored
 */
export async function verifyBackup(
  open: () => Promise<Readable>,
  keys: BackupKeys,
  tell?: (missing: readonly NamedFile[]) => Promise<void>,
): Promise<VerifiedBackup> {
  const files = new KeySet();
  const { header, trailer } = await readArchive(await open(), keys, {
    file: async ({ path }) => {
      if (path.startsWith(STORAGE)) files.add(path.slice(STORAGE.length));
    },
  });
  return { header, trailer, missing: await missingFrom(files, await open(), keys, trailer, tell) };
}

async function missingFrom(
  files: KeySet,
  file: Readable,
  keys: BackupKeys,
  { tables }: BackupTrailer,
  tell?: (missing: readonly NamedFile[]) => Promise<void>,
): Promise<MissingFiles> {
  const missing = noneMissing();
  const readers = new Map<string, (piece: Buffer) => NamedFile[]>();
  for (const table of storedFileTables) {
    const rows = new CopyRows();
    const place = tables.find(({ name }) => name === table)?.columns.indexOf('storage_key') ?? -1;
    readers.set(table, (piece) =>
      [...rows.complete(piece)].flatMap(({ [place]: key }) =>
        key !== undefined && !files.has(key) ? [{ table, key }] : [],
      ),
    );
  }
  await readRows(file, keys, async (table, piece) => {
    const found = readers.get(table)?.(piece) ?? [];
    for (const each of found) noteMissing(missing, each);
    if (found.length > 0) await tell?.(found);
  });
  return missing;
}
