/** Due schedules: each is fired once, however overdue, and rescheduled in the same transaction. */
import type { Tx } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { nextFireTime } from './fire-times.ts';
import { fireForTrigger, type TriggeredRun, triggeredRoutine } from './fire.ts';
import { lockRoutine } from './rows.ts';

interface DueTrigger extends Record<string, unknown> {
  id: string;
  routine_id: string;
  label: string | null;
  cron_expression: string;
  timezone: string | null;
  due_at: string;
  now: string;
}

interface FiredSchedule {
  trigger_id: string;
  /** Null if the routine is paused or in the trash: its schedule advances without effect. */
  fired: TriggeredRun | null;
}

/** Companies with schedules that are due, those that have waited longest first. */
export async function companiesWithDueSchedules(tx: Tx, limit: number): Promise<string[]> {
  const { rows } = await tx.execute<{ company_id: string }>(sql`
    select company_id from routine_triggers
    where enabled and next_fire_at is not null and next_fire_at <= now()
    group by company_id order by min(next_fire_at) limit ${limit}`);
  return rows.map(({ company_id }) => company_id);
}

/**
 * Fires the company's schedule that has been due longest; undefined if there is none. One per transaction: several schedulers
 * share the work, and skip rows locked by others. Occurrences missed during downtime are fired once, with the earliest missed
 * time; the next one is in the future.
 */
export async function fireDueSchedule(tx: Tx, company_id: string): Promise<FiredSchedule | undefined> {
  const { rows } = await tx.execute<DueTrigger>(sql`
    select t.id, t.routine_id, t.label, t.cron_expression, t.timezone, t.next_fire_at as due_at, now() as now
    from routine_triggers t
    where t.company_id = ${company_id} and t.enabled and t.next_fire_at is not null and t.next_fire_at <= now()
    order by t.next_fire_at limit 1
    for no key update skip locked`);
  const [due] = rows;
  if (!due) return undefined;
  const { next, problem } = following(due);
  await tx.execute(sql`
    update routine_triggers set next_fire_at = ${next}::timestamptz, enabled = enabled and ${problem === undefined}
    where id = ${due.id}`);
  const locked = await lockRoutine(tx, due.routine_id);
  if (locked?.routine.status !== 'active' || (await alreadyFired(tx, due)))
    return { trigger_id: due.id, fired: null };
  const actor = triggeredRoutine(locked.routine, { kind: 'schedule', label: due.label });
  const fire = {
    source: 'schedule',
    payload: null,
    trigger_id: due.id,
    due_at: new Date(due.due_at),
  } as const;
  return { trigger_id: due.id, fired: await fireForTrigger(tx, actor, locked, fire) };
}

/** A zone that the platform no longer knows disables the schedule after this last fire. */
function following(due: DueTrigger): { next: Date | null; problem?: string } {
  try {
    return { next: nextFireTime(due.cron_expression, due.timezone ?? 'UTC', new Date(due.now)) };
  } catch (err) {
    if (!(err instanceof ServiceError)) throw err;
    return { next: null, problem: err.message };
  }
}

/** The unique index would reject a second run for the same instant; a clock that was set back must not stop the rest. */
async function alreadyFired(tx: Tx, { id, due_at }: DueTrigger): Promise<boolean> {
  const { rows } = await tx.execute(
    sql`select from routine_runs where trigger_id = ${id} and due_at = ${due_at}::timestamptz`,
  );
  return rows.length > 0;
}
