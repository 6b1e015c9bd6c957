/** A backup: database, storage and homes in one file, read from one snapshot, verified after writing. */
import { createHash } from 'node:crypto';
import { access } from 'node:fs/promises';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { BACKUP_FORMAT, type Backup, type BackupTrailer } from '@acp/contract';
import { type Vault, serviceVersion } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import { ArchiveWriter } from './archive-writer.ts';
import { BACKUPS } from './backup-store.ts';
import { beginSnapshot, describeDatabase, dumpDatabase } from './dump-database.ts';
import { frameWriter } from './frames.ts';
import { archiveFolder } from './home-files.ts';
import { withConnection } from './tables.ts';
import { verifyBackup } from './verify-backup.ts';

const ZSTD_LEVEL = 3;
const LEFT_OUT_NAMED = 100;

interface BackupSources {
  /** The direct address: the snapshot belongs to a session. */
  database_url: string;
  /** The instance's objects; earlier backups among them are left out. */
  storage: Storage;
  /** Folder that contains the companies' homes. */
  homes: string;
  vault: Vault;
}

interface BackupTarget {
  store: Storage;
  key: string;
}

type Progress = (phase: NonNullable<Backup['phase']>, bytes: number) => void;

export interface MadeBackup {
  bytes: number;
  trailer: BackupTrailer;
}

/**
 * Writes the backup and reads it back. If it fails or is aborted, it leaves no file behind.
 * @param progress called often, with the number of bytes read so far
 */
export async function makeBackup(
  id: string,
  sources: BackupSources,
  target: BackupTarget,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<MadeBackup> {
  const expected_bytes = target.store.kind === 's3' ? await mostExpected(sources) : 0;
  let phase: NonNullable<Backup['phase']> = 'database';
  let bytes = 0;
  const archive = new ArchiveWriter((more) => progress(phase, (bytes += more)));
  const { first_line, frames } = frameWriter(id, sources.vault);
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
  const file = new PassThrough();
  file.write(first_line);
  // By itself, a reader that gives up destroys what it reads, with no reason: the pipeline would fail first, and hide the store's.
  const bytesOfFile = file.iterator({ destroyOnReturn: false });
  const stored = target.store.put(target.key, bytesOfFile, {
    max_bytes: Number.MAX_SAFE_INTEGER,
    expected_bytes,
    signal,
  });
  stored.catch((error: unknown) => file.destroy(asError(error)));
  const written = Promise.all([pipeline(archive.stream, compress, frames, file, { signal }), stored]);
  const filled = fill(id, archive, sources, { signal, enter: (next) => (phase = next) });
  // The first failure ends the other one too, and is the error that the caller gets.
  const fail = (error: unknown) => archive.destroy(asError(error));
  filled.catch(fail);
  written.catch(fail);
  const [trailer, [, { size_bytes }]] = await Promise.all([filled, written]);
  phase = 'verification';
  progress(phase, bytes);
  try {
    await verifyBackup(await bodyOf(target, signal), sources, trailer);
  } catch (error) {
    await target.store.delete(target.key);
    throw error;
  }
  return { bytes: size_bytes, trailer };
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Uncompressed size of database and objects, or 1.5 times the last backup if larger: the only hint at the size of homes. */
async function mostExpected({ database_url, storage }: BackupSources): Promise<number> {
  return withConnection(database_url, 'backup', async (client) => {
    const { rows } = await client.query<{ now: string; last: string }>(`
      select pg_database_size(current_database()) as now,
        coalesce((select bytes from backups where status = 'succeeded' order by started_at desc limit 1), 0) as last`);
    let now = Number(rows[0]!.now);
    for await (const { key, size_bytes } of storage.list('')) if (!key.startsWith(BACKUPS)) now += size_bytes;
    return Math.max(now, 1.5 * Number(rows[0]!.last));
  });
}

async function bodyOf({ store, key }: BackupTarget, signal: AbortSignal): Promise<Readable> {
  const body = await store.get(key, undefined, signal);
  if (body === undefined) throw new Error('the backup disappeared after it was written');
  return body;
}

async function fill(
  id: string,
  archive: ArchiveWriter,
  { database_url, storage, homes }: BackupSources,
  { signal, enter }: { signal: AbortSignal; enter: (phase: NonNullable<Backup['phase']>) => void },
): Promise<BackupTrailer> {
  // By this name it is found if the process freezes: its snapshot would keep the server from cleaning up.
  const dumped = await withConnection(database_url, `backup ${id}`, async (client) => {
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
    await client.query('commit');
    return { tables, sequences };
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
  // Objects are immutable, and none that the snapshot refers to is deleted while a backup runs.
  enter('storage');
  for await (const { key, size_bytes: size } of storage.list('')) {
    signal.throwIfAborted();
    if (key.startsWith(BACKUPS)) continue;
    const body = await storage.get(key, undefined, signal);
    // It may also have been discarded meanwhile, being nobody's.
    if (body === undefined) {
      note.left_out({ path: `storage/${key}`, reason: 'listed by the store, but not there' });
      continue;
    }
    note.file(`storage/${key}`, size, await archive.file(`storage/${key}`, { size }, body));
  }
  enter('homes');
  const exists = await access(homes).then(
    () => true,
    () => false,
  );
  if (exists) await archiveFolder(archive, { root: homes, name: 'homes' }, note, signal);
  trailer.files_sha256 = sums.digest('hex');
  await archive.json('end.json', trailer);
  archive.end();
  return trailer;
}
