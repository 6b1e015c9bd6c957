/** Next fire times of schedules, as stored in `next_fire_at`. */
import { databaseNow, schema, type Tx } from '@acp/db';
import { and, eq, sql } from 'drizzle-orm';
import { nextFireTime } from './fire-times.ts';
import type { TriggerRow } from './rows.ts';

const { routine_triggers } = schema;

export interface Schedule {
  cron_expression: string;
  timezone: string;
}

/** The next fire by the database's clock. @throws invalid for an invalid expression or time zone */
export async function nextFireNow(tx: Tx, { cron_expression, timezone }: Schedule): Promise<Date> {
  return nextFireTime(cron_expression, timezone, await databaseNow(tx));
}

/** The routine's schedules, in a fixed order, and before the routine: a fire in progress has locked its own first. */
export async function lockSchedules(tx: Tx, routine_id: string): Promise<TriggerRow[]> {
  const mine = and(
    eq(routine_triggers.routine_id, routine_id),
    eq(routine_triggers.kind, 'schedule'),
    eq(routine_triggers.enabled, true),
  );
  return tx.select().from(routine_triggers).where(mine).orderBy(routine_triggers.id).for('no key update');
}

/** Restarts a routine's schedules from now, so that fires missed during its pause are not made up for. */
export async function rescheduleTriggers(tx: Tx, triggers: readonly TriggerRow[]): Promise<void> {
  if (triggers.length === 0) return;
  const now = await databaseNow(tx);
  const next = triggers.map(({ id, cron_expression, timezone }) => ({
    id,
    next_fire_at: nextFireTime(cron_expression ?? '', timezone ?? 'UTC', now),
  }));
  await tx.execute(sql`
    update routine_triggers set next_fire_at = next.next_fire_at
    from jsonb_to_recordset(${JSON.stringify(next)}::jsonb) as next(id uuid, next_fire_at timestamptz)
    where routine_triggers.id = next.id`);
}
