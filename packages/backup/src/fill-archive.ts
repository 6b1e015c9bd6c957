/** What a backup consists of, in its order. */
import { createHash } from 'node:crypto';
import { access } from 'node:fs/promises';
import { BACKUP_FORMAT, type Backup, type BackupTrailer } from '@acp/contract';
import { serviceVersion, type Vault } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import { archiveStorage } from './archive-storage.ts';
import type { ArchiveWriter } from './archive-writer.ts';
import { beginSnapshot, describeDatabase, dumpDatabase } from './dump-database.ts';
import { archiveFolder } from './home-files.ts';
import type { KeySet } from './key-set.ts';
import { type MissingFiles, namedAmong, namedKeys } from './named-files.ts';
import { withConnection } from './tables.ts';

const LEFT_OUT_NAMED = 100;

export interface BackupSources {
  /** The direct address: the snapshot belongs to a session. */
  database_url: string;
  /** The instance's objects; earlier backups among them are left out. */
  storage: Storage;
  /** Folder that contains the companies' homes. */
  homes: string;
  vault: Vault;
}

export interface FilledArchive {
  trailer: BackupTrailer;
  /** Files that rows name and that the store has lost. */
  lost: MissingFiles;
}

/** Writes everything into the archive, and ends it. */
export async function fillArchive(
  id: string,
  archive: ArchiveWriter,
  { database_url, storage, homes }: BackupSources,
  { signal, enter }: { signal: AbortSignal; enter: (phase: NonNullable<Backup['phase']>) => void },
): Promise<FilledArchive> {
  // By this name it is found if the process freezes: its snapshot would keep the server from cleaning up.
  const { named, ...dumped } = await withConnection(database_url, `backup ${id}`, async (client) => {
    await beginSnapshot(client);
    const created_at = new Date();
    const { version } = serviceVersion();
    await archive.json('backup.json', {
      format: BACKUP_FORMAT,
      id,
      created_at,
      version,
      ...(await describeDatabase(client)),
    });
    const { tables, sequences } = await dumpDatabase(client, archive);
    const keys = await namedKeys(client);
    await client.query('commit');
    return { tables, sequences, named: keys };
  });
  const sums = createHash('sha256');
  const trailer: BackupTrailer = {
    ...dumped,
    files: 0,
    file_bytes: 0,
    files_sha256: '',
    left_out: [],
  };
  const note = {
    file: (path: string, size: number, sha256: string) => {
      sums.update(`${path}\0${sha256}\n`);
      trailer.files += 1;
      trailer.file_bytes += size;
    },
    left_out: (entry: BackupTrailer['left_out'][number]) => {
      if (trailer.left_out.length < LEFT_OUT_NAMED) trailer.left_out.push(entry);
    },
  };
  enter('storage');
  const stillNamed = async (keys: KeySet) =>
    withConnection(database_url, `backup ${id}`, async (client) => namedAmong(client, keys));
  const lost = await archiveStorage(archive, storage, { named, stillNamed }, note, signal);
  enter('homes');
  const exists = await access(homes).then(
    () => true,
    () => false,
  );
  if (exists) await archiveFolder(archive, { root: homes, name: 'homes' }, note, signal);
  trailer.files_sha256 = sums.digest('hex');
  await archive.json('end.json', trailer);
  archive.end();
  return { trailer, lost };
}
