import type { Backup } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, cutText, stated, storableText } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { isSilent } from './read-backups.ts';

const { backups } = schema;

const ERROR_BYTES = 2000;
const ENDED = stated('the process that made it has ended');

/**
 * Begins a backup. Its row is not locked: it is kept alive by `noteBackupProgress`, and contains the file name from the beginning,
 * so that the leftovers of a killed process are found.
 * @param id of the request, if someone requested it
 * @throws conflict while another one is running
 */
export async function beginBackup(
  tx: Tx,
  id: string,
  { trigger, claimed_by, file }: { trigger: Backup['trigger']; claimed_by: string; file: string },
): Promise<void> {
  await endSilentBackups(tx);
  await tx.delete(backups).where(and(eq(backups.id, id), eq(backups.status, 'queued')));
  const { rowCount } = await tx.execute(sql`
    insert into backups (id, status, trigger, claimed_by, file, started_at)
    values (${id}, 'running', ${trigger}, ${claimed_by}, ${file}, now())
    on conflict do nothing`);
  if (rowCount === 0) throw conflict('a backup is already in progress');
}

/** Marks those as failed whose process has died, and tells of them. */
export async function endSilentBackups(tx: Tx): Promise<void> {
  const { rows: broken } = await tx.execute<{ id: string }>(sql`
    update backups set status = 'failed', error = ${ENDED}, phase = null, finished_at = now()
    where ${isSilent} returning id`);
  if (broken.length > 0) {
    const sessions = broken.map((each) => `backup ${each.id}`);
    // A process that is frozen rather than dead still holds its snapshot.
    await tx.execute(sql`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
      and usename = current_user and application_name in ${sessions}`);
  }
  for (const each of broken) await tell(tx, each.id, 'error', `a backup failed: ${ENDED}`);
}

/** @returns false if the backup was given up in the meantime: its process must stop */
export async function noteBackupProgress(
  tx: Tx,
  id: string,
  { phase, bytes }: Pick<Backup, 'phase' | 'bytes'>,
): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    update backups set phase = ${phase}, bytes = ${bytes}, updated_at = now() where id = ${id} and status = 'running'`);
  return rowCount === 1;
}

/**
 * @param lacks which files that rows name are not in it, if any
 * @throws conflict if the backup was given up in the meantime
 */
export async function finishBackup(
  tx: Tx,
  id: string,
  { file, bytes, lacks }: { file: string; bytes: number; lacks: string | null },
): Promise<void> {
  const error = lacks === null ? null : asError(lacks);
  const done = await tx
    .update(backups)
    .set({
      status: 'succeeded',
      phase: null,
      file,
      bytes,
      error,
      finished_at: sql`now()`,
      updated_at: sql`now()`,
    })
    .where(and(eq(backups.id, id), eq(backups.status, 'running')))
    .returning({ id: backups.id });
  if (done.length === 0) throw conflict('the backup was abandoned in the meantime');
  const before = await beforeIt(tx, id);
  if (before?.failed === true) await tell(tx, id, 'info', 'a backup was made again');
  // Once: they may be lost for good.
  if (error !== null && error !== before?.lacked)
    await tell(tx, id, 'error', `a backup lacks files: ${error}`);
}

/** Called once its file is gone. Reports to the operator and all admins of the instance; does nothing if it has already ended. */
export async function failBackup(tx: Tx, id: string, message: string): Promise<void> {
  const failed = await tx
    .update(backups)
    .set({
      status: 'failed',
      phase: null,
      file: null,
      error: asError(message),
      finished_at: sql`now()`,
      updated_at: sql`now()`,
    })
    .where(and(eq(backups.id, id), eq(backups.status, 'running')))
    .returning({ id: backups.id });
  if (failed.length > 0) await tell(tx, id, 'error', `a backup failed: ${message}`);
}

const asError = (message: string): string => cutText(storableText(message), ERROR_BYTES);

/** Whether the backup before this one failed, and what the last one that succeeded lacked. */
async function beforeIt(tx: Tx, id: string): Promise<{ failed: boolean; lacked: string | null } | undefined> {
  const { rows } = await tx.execute<{ failed: boolean; lacked: string | null }>(sql`
    select status = 'failed' as failed, (
      select error from backups where id <> ${id} and status = 'succeeded' order by started_at desc, id desc limit 1
    ) as lacked
    from backups where id <> ${id} order by started_at desc, id desc limit 1`);
  return rows[0];
}

/** Sends the alert of specification, Events and observability 7. */
async function tell(tx: Tx, id: string, level: 'info' | 'error', message: string): Promise<void> {
  const entity = { entity_type: 'backup', entity_id: id };
  const data = { topic: 'backup', level, message: cutText(message, ERROR_BYTES), ...entity };
  const change: Change = { company_id: null, ...entity, event: { type: 'notification', data } };
  await recordChanges(tx, systemActor('backups'), [change]);
}
