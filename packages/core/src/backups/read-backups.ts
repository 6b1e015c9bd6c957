import { Backup, createValidator } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { desc, sql } from 'drizzle-orm';
import { nextFireTime } from '../routines/index.ts';

const { backups } = schema;
const readBackup = createValidator(Backup, 'backup');

/** A running backup without progress for this long has lost its process. */
export const SILENT_SEC = 120;
/** Delay after a failure before the next attempt, if the schedule does not demand one earlier. */
const RETRY_SEC = 3600;

/**
 * Whether a backup is due: there has never been one, the schedule (cron, UTC) has fired since the last attempt, or the last one
 * failed an hour ago. Never if the schedule is `off`. A backup whose process has died counts as failed, though its row says
 * otherwise until the next one begins.
 * @param by_default the schedule unless the setting says another
 */
export async function isBackupDue(tx: Tx, by_default: string): Promise<boolean> {
  const { rows } = await tx.execute<{
    schedule: unknown;
    status: string | null;
    started_at: string | null;
    now: string;
  }>(sql`
    select (select value from instance_settings where key = 'backup_schedule') as schedule,
      last.status, last.started_at, now() as now
    from (select 1) one left join lateral (
      select case when status = 'running' and updated_at < now() - make_interval(secs => ${SILENT_SEC}) then 'failed'
        else status end as status, started_at
      from backups where trigger = 'schedule' or status = 'succeeded'
      order by started_at desc, id desc limit 1
    ) last on true`);
  const { status, started_at, now, schedule: set } = rows[0]!;
  const schedule = typeof set === 'string' ? set : by_default;
  if (schedule === 'off') return false;
  if (started_at === null || status === null) return true;
  if (status === 'running') return false;
  const last = new Date(started_at);
  const at = new Date(now).getTime();
  if (nextFireTime(schedule, 'UTC', last).getTime() <= at) return true;
  return status === 'failed' && last.getTime() + RETRY_SEC * 1000 <= at;
}

/** While a backup is running, nothing that its snapshot references may be deleted from the store. */
export async function isBackupRunning(tx: Tx): Promise<boolean> {
  const { rows } = await tx.execute(
    sql`select from backups where status = 'running' and updated_at > now() - make_interval(secs => ${SILENT_SEC})`,
  );
  return rows.length > 0;
}

/** Start of the last successful backup, and its age by the database's clock. */
export async function lastSuccessfulBackup(
  tx: Tx,
): Promise<{ started_at: Date; since_hours: number } | undefined> {
  const { rows } = await tx.execute<{ started_at: string; since_hours: number }>(sql`
    select started_at, extract(epoch from now() - started_at)::float8 / 3600 as since_hours
    from backups where status = 'succeeded' order by started_at desc, id desc limit 1`);
  return rows[0] && { ...rows[0], started_at: new Date(rows[0].started_at) };
}

/** Newest first. */
export async function listBackups(tx: Tx, limit = 100): Promise<Backup[]> {
  const rows = await tx
    .select()
    .from(backups)
    .orderBy(desc(backups.started_at), desc(backups.id))
    .limit(limit);
  return rows.map(({ started_at, finished_at, ...row }) =>
    readBackup({
      ...row,
      started_at: started_at.toISOString(),
      finished_at: finished_at && finished_at.toISOString(),
    }),
  );
}
