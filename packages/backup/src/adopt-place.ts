import type { BackupHeader, BackupTrailer } from '@acp/contract';
import type { Storage } from '@acp/storage';
import type { Client } from 'pg';
import type { BackupStore } from './backup-store.ts';

/** Names and sizes of the backups that are there. */
export async function keptBackups({ store, prefix }: BackupStore): Promise<Map<string, number>> {
  const kept = new Map<string, number>();
  for await (const { key, size_bytes } of store.list(prefix)) kept.set(key.slice(prefix.length), size_bytes);
  return kept;
}

/**
 * Makes what was restored at home here: the storage into which its files were written is the instance's own from now on, its
 * backups are those that are here, and the schedulers that ran where the backup was made are no more. Runs in the transaction
 * of the rows.
 * @param tables of the backup: an older one may lack some
 */
export async function adoptPlace(
  client: Client,
  { storage, kept }: { storage: Pick<Storage, 'markerId'>; kept: ReadonlyMap<string, number> },
  { id }: Pick<BackupHeader, 'id'>,
  { tables }: Pick<BackupTrailer, 'tables'>,
): Promise<void> {
  const has = (table: string): boolean => tables.some(({ name }) => name === table);
  if (has('instance_settings'))
    await client.query(
      `with place as (select to_jsonb($1::text) as marker), gone as (
         delete from instance_settings using place where key = 'storage_marker' and marker is null)
       update instance_settings set value = marker from place where key = 'storage_marker' and marker is not null`,
      [await storage.markerId()],
    );
  if (has('backups')) {
    await client.query(`delete from backups where status = 'succeeded' and not (file = any($1))`, [
      [...kept.keys()],
    ]);
    // Its size was not known when its row was written into it.
    const { rows } = await client.query<{ file: string }>('select file from backups where id = $1', [id]);
    for (const { file } of rows)
      await client.query('update backups set bytes = $2 where id = $1', [id, kept.get(file)]);
  }
  if (has('scheduler_processes')) await client.query('delete from scheduler_processes');
}
