import { queueCounts } from '@acp/queue';
import { said } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { tickTotals } from '../health/index.ts';
import { type ConditionQuery, MOST_OF_A_KIND } from './condition.ts';

/** Time that a new instance has for its first backup. */
const FIRST_BACKUP_HOURS = 1;
const LICENSE_WARNING_DAYS = 14;
/** Schedulers report every ten seconds. */
const SILENT_SEC = 60;
/** With fewer ticks, an error rate means nothing. */
const MIN_TICKS = 10;

const isYoung = sql`coalesce(
  (select (value ->> 'first_boot')::timestamptz > now() - make_interval(hours => ${FIRST_BACKUP_HOURS})
    from instance_settings where key = 'entitlement'), true)`;

/** Conditions shown to the operator. */
export const instanceConditions: readonly ConditionQuery[] = [
  {
    rows: () => sql`
      select id, error from (select * from backups where status <> 'running' order by started_at desc, id desc limit 1) b
      where b.status = 'failed'`,
    condition: ({ id, error }: { id: string; error: string | null }) => ({
      kind: 'backup_failed',
      key: 'last',
      level: 'error',
      message:
        error === null
          ? said`The last backup failed; nothing is known of why`
          : said`The last backup failed: ${error}`,
      entity_type: 'backup',
      entity_id: id,
      already_notified: true,
    }),
  },
  {
    rows: ({ backup_max_age_hours: most, backup_schedule }) => sql`
      select last.since_hours, ${most}::float8 as most
      from (select max(started_at) as at, extract(epoch from now() - max(started_at)) / 3600 as since_hours
        from backups where status = 'succeeded') last
      where ${most}::float8 is not null and (last.since_hours > ${most}::float8 or last.at is null and not ${isYoung})
        and coalesce((select value #>> '{}' from instance_settings where key = 'backup_schedule'), ${backup_schedule}) <> 'off'`,
    condition: ({ since_hours: hours, most }: { since_hours: number | null; most: number }) => ({
      kind: 'backup_late',
      key: 'last',
      level: 'error',
      message:
        hours === null
          ? said`No backups yet`
          : said`The last backup is ${Math.floor(hours)} hours old, which is more than ${most}`,
    }),
  },
  {
    rows: () => sql`select name, failed from (${queueCounts}) counted where failed > 0 order by name`,
    condition: ({ name, failed }: { name: string; failed: number }) => ({
      kind: 'dead_jobs',
      key: name,
      level: 'warning',
      message: said`The queue ${name} has jobs that failed for good: ${failed}`,
    }),
  },
  {
    rows: ({ disk_pct }) => sql`
      select scheduler, disk_used_pct from scheduler_processes
      where disk_used_pct > ${disk_pct} and updated_at > now() - make_interval(secs => ${SILENT_SEC})
      order by disk_used_pct desc limit ${MOST_OF_A_KIND}`,
    condition: ({ scheduler, disk_used_pct }: { scheduler: string; disk_used_pct: number }) => ({
      kind: 'disk',
      key: scheduler,
      level: 'error',
      message: said`The disk of scheduler ${scheduler} is ${Math.floor(disk_used_pct)} % full`,
    }),
  },
  {
    rows: () => sql`
      select trial, days from (
        select value ->> 'id' is null as trial,
          extract(epoch from nullif(value ->> 'until', 'infinity')::timestamptz - now())::float8 / 86400 as days
        from instance_settings where key = 'entitlement') ends
      where days <= ${LICENSE_WARNING_DAYS}`,
    condition: ({ trial, days }: { trial: boolean; days: number }) => {
      const left = Math.floor(days);
      const message =
        days <= 0
          ? said`The instance is read-only: its trial or license has expired`
          : trial
            ? said`The trial ends in ${left} days; the instance is read-only from then on`
            : said`The license ends in ${left} days; the instance is read-only from then on`;
      return { kind: 'license', key: 'instance', level: days <= 0 ? 'error' : 'warning', message };
    },
  },
  // An orderly stop removes the row. A scheduler that fell silent is reported until another one has started since.
  {
    rows: () => sql`
      select lost.scheduler from scheduler_processes lost
      where lost.updated_at < now() - make_interval(secs => ${SILENT_SEC})
        and not exists (select from scheduler_processes p
          where p.started_at > lost.updated_at and p.updated_at > now() - make_interval(secs => ${SILENT_SEC}))
      order by lost.updated_at desc limit ${MOST_OF_A_KIND}`,
    condition: ({ scheduler }: { scheduler: string }) => ({
      kind: 'scheduler_lost',
      key: scheduler,
      level: 'error',
      message: said`The scheduler ${scheduler} fell silent without having been stopped`,
    }),
  },
  {
    rows: ({ worker_error_rate_pct: most }) => sql`
      select worker, ticks, errors from (${tickTotals}) total
      where ticks > ${MIN_TICKS} and errors * 100.0 / ticks > ${most} order by worker limit ${MOST_OF_A_KIND}`,
    condition: ({ worker, ticks, errors }: { worker: string; ticks: number; errors: number }) => ({
      kind: 'workers_failing',
      key: worker,
      level: 'warning',
      message: said`The background worker ${worker} failed ${errors} of ${ticks} times`,
    }),
  },
];
