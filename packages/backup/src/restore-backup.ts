/** Restores a backup into an empty instance: all of it or, if anything fails, nothing of the database. */
import { readdir } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { BackupHeader } from '@acp/contract';
import { migrate, migrationHashes } from '@acp/db';
import { conflict, invalid, isFromOutside, unavailable, type Vault } from '@acp/kernel';
import { migrateQueue } from '@acp/queue';
import type { Storage } from '@acp/storage';
import { adoptPlace, keptBackups } from './adopt-place.ts';
import type { BackupStore } from './backup-store.ts';
import { putFile } from './put-file.ts';
import { type BackupKeys, readArchive } from './read-archive.ts';
import { beginRestore, endRestore } from './restore-note.ts';
import { TableLoader } from './table-loader.ts';
import { withConnection } from './tables.ts';
import { type VerifiedBackup, verifyBackup } from './verify-backup.ts';

interface RestoreTarget extends BackupKeys {
  /** The direct address of a database without tables, or with an interrupted restore of the same backup. */
  database_url: string;
  storage: Storage;
  homes: string;
  /** Whether the homes may be in use already; files of the backup then replace theirs. */
  into_homes: 'any' | 'empty';
  /** Where the instance will keep its backups. */
  backups: BackupStore;
}

/**
 * Reads the file first to check that it is intact and fits this release and its keys, then to restore it. After an
 * interruption at any point it can be repeated: files are overwritten, and all rows are committed together.
 * @param open opens the file from its start
 * @throws invalid for a backup that can't be read or is of a newer release, conflict if the database is not empty
 */
export async function restoreBackup(
  open: () => Promise<Readable>,
  target: RestoreTarget,
): Promise<VerifiedBackup> {
  const verified = await verifyBackup(open, target);
  const { header, trailer } = verified;
  assertFits(header, target.vault);
  const { storage } = target;
  const kept = await keptBackups(target.backups);
  await withConnection(target.database_url, 'restore', async (client) => {
    try {
      await beginRestore(client, header.id, async () => assertHomes(target));
      // The schema that the backup was taken from: its columns match its rows.
      await migrate({ url: target.database_url, first: header.migrations.length, restoring: true });
      await client.query('begin');
      const tables = new TableLoader(client, trailer);
      await tables.prepare();
      const read = await readArchive(await open(), target, {
        header: async ({ id }) => (id === header.id ? undefined : notVerified()),
        rows: async (table, piece) => tables.add(table, piece),
        file: async (file, body) => putFile(target, header.id, file, body),
      });
      if (JSON.stringify(read.trailer) !== JSON.stringify(trailer)) notVerified();
      await tables.finish();
      await adoptPlace(client, { storage, kept }, header, trailer);
      await endRestore(client);
      await client.query('commit');
    } catch (error) {
      throw isFromOutside(error)
        ? unavailable('the restore was broken off, and the same command starts over', error)
        : error;
    }
  });
  await migrate({ url: target.database_url, after: [migrateQueue] });
  return verified;
}

/** The store gives other bytes than before. @throws invalid */
function notVerified(): never {
  throw invalid('this is not the backup that was verified');
}

/** @throws conflict */
async function assertHomes({ homes, into_homes }: RestoreTarget): Promise<void> {
  if (into_homes === 'any') return;
  const there = await readdir(homes).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (there.length > 0)
    throw conflict(
      `${homes} has files, which those of the backup would replace: set SERVICE_HOME to another folder, or, if this is the instance to be restored, DATABASE_URL instead of --into`,
    );
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
