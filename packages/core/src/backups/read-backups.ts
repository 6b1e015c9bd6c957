import { Backup, createValidator } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { nextFireTime } from '../routines/index.ts';

const { backups } = schema;
const readBackup = createValidator(Backup, 'backup');

/** A running backup without progress for this long has lost its process. */
const SILENT_SEC = 120;
/** Delay after a failure before the next attempt, if the schedule does not demand one earlier. */
const RETRY_SEC = 3600;

export const isSilent = sql`status = 'running' and updated_at < now() - make_interval(secs => ${SILENT_SEC})`;

const running = sql`select from backups
  where status = 'running' and updated_at > now() - make_interval(secs => ${SILENT_SEC})`;

/** A backup to be made now: one that was requested has an id already. */
type DueBackup = { id: string; trigger: 'operator' } | { id: null; trigger: 'schedule' };

/**
 * The backup that is due, if any. One that was requested, unless another is running; else one by the schedule: there has never
 * been one, the schedule (cron, UTC) has fired since the last attempt, or the last one failed an hour ago. If the schedule is
 * `off`, only those requested. A backup whose process has died counts as failed, though its row says otherwise until the next
 * one begins.
 * @param by_default the schedule unless the setting says another
 * @returns with it, whether there is something for `endSilentBackups`
 */
export async function dueBackup(
  tx: Tx,
  by_default: string,
): Promise<{ due: DueBackup | undefined; silent: boolean }> {
  const { rows } = await tx.execute<{
    queued_id: string | null;
    silent: boolean;
    schedule: unknown;
    status: string | null;
    started_at: string | null;
    now: string;
  }>(sql`
    select (select value from instance_settings where key = 'backup_schedule') as schedule,
      (select id from backups where status = 'queued' and not exists (${running})) as queued_id,
      exists (select from backups where ${isSilent}) as silent, last.status, last.started_at, now() as now
    from (select 1) one left join lateral (
      select case when ${isSilent} then 'failed'
        else status end as status, started_at
      from backups where trigger = 'schedule' or status = 'succeeded'
      order by started_at desc, id desc limit 1
    ) last on true`);
  const { queued_id, silent, schedule, ...last } = rows[0]!;
  if (queued_id !== null) return { due: { id: queued_id, trigger: 'operator' }, silent };
  const is_due = isDue(typeof schedule === 'string' ? schedule : by_default, last);
  return { due: is_due ? { id: null, trigger: 'schedule' } : undefined, silent };
}

function isDue(
  schedule: string,
  { status, started_at, now }: { status: string | null; started_at: string | null; now: string },
): boolean {
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
  const { rows } = await tx.execute(running);
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

/** As shown to operators, without the process that makes it. */
export function presentBackup(row: typeof backups.$inferSelect): Backup {
  const { id, status, trigger, phase, file, bytes, error, started_at, finished_at } = row;
  return readBackup({
    id,
    status,
    trigger,
    phase,
    file,
    bytes,
    error,
    started_at: started_at.toISOString(),
    finished_at: finished_at && finished_at.toISOString(),
  });
}

/** Newest first. */
export async function pageOfBackups(tx: Tx, request: PageRequest = {}): Promise<Page<Backup>> {
  const page = newestFirst(backups.started_at, backups.id, request, 100);
  const rows = await tx
    .select()
    .from(backups)
    .where(page.where)
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(rows, ({ started_at, id }) => ({ at: started_at, id }), presentBackup);
}

/** The last hundred, newest first. */
export async function listBackups(tx: Tx): Promise<Backup[]> {
  return (await pageOfBackups(tx)).items;
}
