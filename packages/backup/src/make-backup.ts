/** A backup: database, storage and homes in one file, read from one snapshot, verified after writing. */
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import type { Backup } from '@acp/contract';
import { invalid } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import { ArchiveWriter } from './archive-writer.ts';
import { BACKUPS } from './backup-store.ts';
import { type BackupSources, type FilledArchive, fillArchive } from './fill-archive.ts';
import { frameWriter } from './frames.ts';
import { readArchive } from './read-archive.ts';
import { withConnection } from './tables.ts';

const ZSTD_LEVEL = 3;

interface BackupTarget {
  store: Storage;
  key: string;
}

type Progress = (phase: NonNullable<Backup['phase']>, bytes: number) => void;

export interface MadeBackup extends FilledArchive {
  bytes: number;
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
  const filled = fillArchive(id, archive, sources, { signal, enter: (next) => (phase = next) });
  // The first failure ends the other one too, and is the error that the caller gets.
  const fail = (error: unknown) => archive.destroy(asError(error));
  filled.catch(fail);
  written.catch(fail);
  const [{ trailer, lost }, [, { size_bytes }]] = await Promise.all([filled, written]);
  phase = 'verification';
  progress(phase, bytes);
  try {
    const found = await readArchive(await bodyOf(target, signal), sources);
    if (JSON.stringify(found.trailer) !== JSON.stringify(trailer))
      throw invalid('the backup differs from what was written');
  } catch (error) {
    await target.store.delete(target.key);
    throw error;
  }
  return { bytes: size_bytes, trailer, lost };
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
