import { schema, type Tx } from '@acp/db';
import { eq, sql } from 'drizzle-orm';

const { backups } = schema;

const BATCH = 100;

/** Finished backups that began more than `days` ago; never the newest successful one. */
export async function expiredBackups(tx: Tx, days: number): Promise<{ id: string; file: string | null }[]> {
  const { rows } = await tx.execute<{ id: string; file: string | null }>(sql`
    select id, file from backups
    where status <> 'running' and started_at < now() - make_interval(days => ${days})
      and id is distinct from (
        select id from backups where status = 'succeeded' order by started_at desc, id desc limit 1
      )
    order by started_at limit ${BATCH}`);
  return rows;
}

/** Files of failed backups, such as those whose process was killed: no one else deletes them. */
export async function abandonedBackups(tx: Tx): Promise<{ id: string; file: string }[]> {
  const { rows } = await tx.execute<{ id: string; file: string }>(
    sql`select id, file from backups where status = 'failed' and file is not null limit ${BATCH}`,
  );
  return rows;
}

/** Called after the file was deleted. */
export async function clearBackupFile(tx: Tx, id: string): Promise<void> {
  await tx.update(backups).set({ file: null }).where(eq(backups.id, id));
}

/** Called after its file was deleted. */
export async function deleteBackup(tx: Tx, id: string): Promise<void> {
  await tx.delete(backups).where(eq(backups.id, id));
}
