import { unavailable } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import type { ArchiveWriter } from './archive-writer.ts';
import { BACKUPS } from './backup-store.ts';
import type { KeySet } from './key-set.ts';
import { type MissingFiles, noneMissing } from './named-files.ts';

interface Notes {
  file: (path: string, bytes: number, sha256: string) => void;
  left_out: (entry: { path: string; reason: string }) => void;
}

/**
 * Adds everything in the storage but earlier backups.
 * @param named keys that rows of the snapshot name; those that are added are removed from it
 * @param stillNamed those of the keys that rows name by now, and some of them at random
 * @returns the files that the store has lost
 * @throws unavailable if the store has not listed one that it has
 */
export async function archiveStorage(
  archive: ArchiveWriter,
  storage: Storage,
  {
    named,
    stillNamed,
  }: {
    named: KeySet;
    stillNamed: (keys: KeySet) => Promise<{ missing: MissingFiles; some: readonly string[] }>;
  },
  note: Notes,
  signal: AbortSignal,
): Promise<MissingFiles> {
  for await (const { key, size_bytes: size } of storage.list('')) {
    signal.throwIfAborted();
    if (key.startsWith(BACKUPS)) continue;
    const path = `storage/${key}`;
    const body = await storage.get(key, undefined, signal);
    if (body !== undefined) {
      note.file(path, size, await archive.file(path, { size }, body));
      named.delete(key);
    } else if (!named.has(key)) note.left_out({ path, reason: 'listed by the store, but not there' });
  }
  if (named.size === 0) return noneMissing();
  // Bytes are deleted after the row that named them: those of a row that is still there have been lost, or were not listed.
  const { missing: lost, some } = await stillNamed(named);
  for (const key of some) {
    signal.throwIfAborted();
    if (await storage.exists(key))
      throw unavailable(`the store's list of objects is not whole: ${key} is missing from it`);
  }
  for (const { table, key } of lost.named)
    note.left_out({ path: `storage/${key}`, reason: `a row of ${table} names it, but the store lost it` });
  const more = lost.count - lost.named.length;
  if (more > 0) note.left_out({ path: 'storage', reason: `${more} more files were lost likewise` });
  return lost;
}
