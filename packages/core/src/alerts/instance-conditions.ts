import { readQueues } from '@acp/queue';
import type { Tx } from '@acp/db';
import { said } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { lastSuccessfulBackup } from '../backups/index.ts';
import { readTicks } from '../health/index.ts';
import { licenseState } from '../settings/index.ts';
import { type ConditionReader, holds, MOST_OF_A_KIND } from './condition.ts';

/** Time that a new instance has for its first backup. */
const FIRST_BACKUP_HOURS = 1;
const LICENSE_WARNING_DAYS = 14;
/** Schedulers report every ten seconds. */
const SILENT_SEC = 60;
/** With fewer ticks, an error rate means nothing. */
const MIN_TICKS = 10;

/** Conditions shown to the operator. */
export const instanceConditions: readonly ConditionReader[] = [
  async (tx) => {
    const { rows } = await tx.execute<{ id: string; error: string | null }>(sql`
      select id, error from (select * from backups where status <> 'running' order by started_at desc, id desc limit 1) b
      where b.status = 'failed'`);
    return rows.map(({ id, error }) => ({
      kind: 'backup_failed',
      key: 'last',
      level: 'error',
      message:
        error === null
          ? said`The last backup failed; nothing is known of why`
          : said`The last backup failed: ${error}`,
      entity_type: 'backup',
      entity_id: id,
      told: true,
    }));
  },
  async (tx, { backup_max_age_hours: most }) => {
    if (most === null) return [];
    const last = await lastSuccessfulBackup(tx);
    if (last !== undefined && last.since_hours <= most) return [];
    if (last === undefined && (await isYoung(tx))) return [];
    const message =
      last === undefined
        ? said`No backups yet`
        : said`The last backup is ${Math.floor(last.since_hours)} hours old, which is more than ${most}`;
    return [{ kind: 'backup_late', key: 'last', level: 'error', message }];
  },
  async (tx) =>
    (await readQueues(tx))
      .filter(({ failed }) => failed > 0)
      .map(({ name, failed }) => ({
        kind: 'dead_jobs',
        key: name,
        level: 'warning',
        message: said`${failed} jobs of the queue ${name} failed for good`,
      })),
  async (tx, { disk_pct }) => {
    const { rows } = await tx.execute<{ scheduler: string; disk_used_pct: number }>(sql`
      select scheduler, disk_used_pct from scheduler_processes
      where disk_used_pct > ${disk_pct} and updated_at > now() - make_interval(secs => ${SILENT_SEC})
      order by disk_used_pct desc limit ${MOST_OF_A_KIND}`);
    return rows.map(({ scheduler, disk_used_pct }) => ({
      kind: 'disk',
      key: scheduler,
      level: 'error',
      message: said`The disk of scheduler ${scheduler} is ${Math.floor(disk_used_pct)} % full`,
    }));
  },
  async (tx) => {
    const { status, read_only, expires_at } = await licenseState(tx);
    if (expires_at === null) return [];
    const days = await daysUntil(tx, new Date(expires_at));
    if (!read_only && days > LICENSE_WARNING_DAYS) return [];
    const left = Math.max(0, Math.floor(days));
    const message = read_only
      ? said`The instance is read-only: its trial or license has expired`
      : status === 'trial'
        ? said`The trial ends in ${left} days; the instance is read-only from then on`
        : said`The license ends in ${left} days; the instance is read-only from then on`;
    return [{ kind: 'license', key: 'instance', level: read_only ? 'error' : 'warning', message }];
  },
  // An orderly stop removes the row. A scheduler that fell silent is reported until another one has started since.
  async (tx) => {
    const { rows } = await tx.execute<{ scheduler: string; silent_sec: number }>(sql`
      select lost.scheduler, extract(epoch from now() - lost.updated_at)::int as silent_sec
      from scheduler_processes lost
      where lost.updated_at < now() - make_interval(secs => ${SILENT_SEC})
        and not exists (select from scheduler_processes p
          where p.started_at > lost.updated_at and p.updated_at > now() - make_interval(secs => ${SILENT_SEC}))
      order by lost.updated_at desc limit ${MOST_OF_A_KIND}`);
    return rows.map(({ scheduler }) => ({
      kind: 'scheduler_lost',
      key: scheduler,
      level: 'error',
      message: said`The scheduler ${scheduler} fell silent without having been stopped`,
    }));
  },
  async (tx, { worker_error_rate_pct: most }) =>
    (await readTicks(tx))
      .filter(({ ticks, errors }) => ticks > MIN_TICKS && (errors / ticks) * 100 > most)
      .map(({ worker, ticks, errors }) => ({
        kind: 'workers_failing',
        key: worker,
        level: 'warning',
        message: said`The background worker ${worker} failed ${errors} of ${ticks} times`,
      })),
];

async function isYoung(tx: Tx): Promise<boolean> {
  return holds(
    tx,
    sql`coalesce((select (value ->> 'first_boot')::timestamptz > now() - make_interval(hours => ${FIRST_BACKUP_HOURS})
      from instance_settings where key = 'entitlement'), true)`,
  );
}

/** Measured by the database's clock. */
async function daysUntil(tx: Tx, instant: Date): Promise<number> {
  const { rows } = await tx.execute<{ days: number }>(
    sql`select extract(epoch from ${instant.toISOString()}::timestamptz - now())::float8 / 86400 as days`,
  );
  return rows[0]!.days;
}
