/** Restores a backup into an empty instance: all of it or, if anything fails, nothing of the database. */
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { BackupHeader, BackupTrailer } from '@acp/contract';
import { migrate, migrationHashes, migrationsFolder } from '@acp/db';
import {
  ensureFolders,
  invalid,
  isFromOutside,
  makeFolders,
  unavailable,
  type Vault,
  writeInside,
} from '@acp/kernel';
import { migrateQueue } from '@acp/queue';
import type { Storage } from '@acp/storage';
import { adoptPlace } from './adopt-place.ts';
import { type ArchivedFile, readArchive } from './read-archive.ts';
import { beginRestore, endRestore } from './restore-note.ts';
import { TableLoader } from './table-loader.ts';
import { withConnection } from './tables.ts';
import { verifyBackup } from './verify-backup.ts';

interface RestoreTarget {
  /** The direct address of a database without tables, or with an interrupted restore of the same backup. */
  database_url: string;
  storage: Storage;
  homes: string;
  vault: Vault;
}

/**
 * Reads the file twice: first to check that it is intact and fits this release and its keys, then to restore it. After an
 * interruption at any point it can be repeated: files are overwritten, and all rows are committed together.
 * @param open opens the file from its start
 * @throws invalid for a backup that can't be read or is of a newer release, conflict if the database is not empty
 */
export async function restoreBackup(
  open: () => Promise<Readable>,
  target: RestoreTarget,
): Promise<{ header: BackupHeader; trailer: BackupTrailer }> {
  const { header, trailer } = await verifyBackup(await open(), target.vault);
  assertFits(header, target.vault);
  await withConnection(target.database_url, 'restore', async (client) => {
    try {
      await beginRestore(client, header.id);
      await migrateTo(header, target.database_url);
      await client.query('begin');
      const tables = new TableLoader(client, trailer);
      await tables.prepare();
      await readArchive(await open(), target.vault, {
        rows: async (table, piece) => tables.add(table, piece),
        file: async (file, body) => putFile(target, header.id, file, body),
      });
      await tables.finish();
      await adoptPlace(client, target.storage, trailer);
      await endRestore(client);
      await client.query('commit');
    } catch (error) {
      throw isFromOutside(error)
        ? unavailable('the restore was broken off, and the same command starts over', error)
        : error;
    }
  });
  // Adds what is newer than the backup.
  await migrate({ url: target.database_url, after: [migrateQueue] });
  return { header, trailer };
}

function assertFits({ migrations, encryption_keys }: BackupHeader, vault: Vault): void {
  const known = migrationHashes();
  if (migrations.length > known.length || migrations.some((hash, place) => known[place] !== hash))
    throw invalid('the backup was made by a newer or different release: restore it with that release');
  const missing = encryption_keys.filter((fingerprint) => !vault.opens(fingerprint));
  if (missing.length > 0)
    throw invalid(
      `the backup's secrets need the encryption key ${missing.join(', ')}: set SERVICE_ENCRYPTION_KEY to it`,
    );
}

/** Creates the schema that the backup was taken from, whose columns match its rows. */
async function migrateTo({ migrations }: BackupHeader, url: string): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'acp-restore-'));
  try {
    const journal = JSON.parse(await readFile(path.join(migrationsFolder, 'meta/_journal.json'), 'utf8')) as {
      entries: unknown[];
    };
    await cp(path.join(migrationsFolder, 'meta'), path.join(folder, 'meta'), { recursive: true });
    const entries = journal.entries.slice(0, migrations.length);
    await writeFile(path.join(folder, 'meta/_journal.json'), JSON.stringify({ ...journal, entries }));
    for (const name of await readdir(migrationsFolder))
      if (name.endsWith('.sql')) await cp(path.join(migrationsFolder, name), path.join(folder, name));
    await migrate({ url, folder, restoring: true });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function putFile(
  { storage, homes }: RestoreTarget,
  backup_id: string,
  { path: name, size, mode, target }: ArchivedFile,
  body: AsyncIterable<Buffer>,
): Promise<void> {
  const [top = '', ...rest] = name.split('/');
  const below = rest.join('/');
  if (top === 'storage') {
    await storage.put(below, body, { max_bytes: size });
    return;
  }
  if (rest.some((segment) => segment === '' || segment === '.' || segment === '..'))
    throw invalid('the backup has a path that leads outside its folder');
  await makeFolders(homes, 0o700);
  if (target === null) await writeInside(homes, below, body, mode, `.${backup_id}`);
  else {
    await ensureFolders(homes, path.posix.dirname(below));
    const link = path.join(homes, below);
    await rm(link, { force: true });
    await symlink(target, link);
  }
}
