import type { BackupTrailer } from '@acp/contract';
import type { Storage } from '@acp/storage';
import type { Client } from 'pg';

/**
 * Makes what was restored at home here: the storage into which its files were written is the instance's own from now on, and the
 * schedulers that ran where the backup was made are no more. Runs in the transaction of the rows.
 * @param tables of the backup: an older one may lack some
 */
export async function adoptPlace(
  client: Client,
  storage: Pick<Storage, 'markerId'>,
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
  if (has('scheduler_processes')) await client.query('delete from scheduler_processes');
}
