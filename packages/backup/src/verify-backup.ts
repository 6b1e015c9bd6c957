import type { Readable } from 'node:stream';
import { type BackupHeader, type BackupTrailer } from '@acp/contract';
import { invalid } from '@acp/kernel';
import type { BackupKeys } from './frames.ts';
import { readArchive } from './read-archive.ts';

/**
 * Reads a backup as a restore would, without changing anything.
 * @param expected the trailer that it must have, if known
 * @throws invalid if it could not be restored
 */
export async function verifyBackup(
  file: Readable,
  keys: BackupKeys,
  expected?: BackupTrailer,
): Promise<{ header: BackupHeader; trailer: BackupTrailer }> {
  const found = await readArchive(file, keys);
  if (expected !== undefined && JSON.stringify(found.trailer) !== JSON.stringify(expected))
    throw invalid('the backup differs from what was written');
  return found;
}
