import { rowReader, schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { shownColumns, shownRow } from '../trash/index.ts';

const { routine_runs, routine_triggers, routines } = schema;

export type RoutineRow = typeof routines.$inferSelect & { next_fire_at: Date | null };
export type TriggerRow = typeof routine_triggers.$inferSelect;
export type RoutineRunRow = typeof routine_runs.$inferSelect;

/** The columns of a routine, and the earliest fire of its schedules. The names are those of an unaliased table. */
export const routineColumns = {
  ...shownColumns(routines),
  next_fire_at: sql<Date | null>`(
    select min(t.next_fire_at) from routine_triggers t
    where t.routine_id = routines.id and t.enabled and routines.status = 'active')`
    .mapWith(routine_triggers.next_fire_at)
    .as('next_fire_at'),
};

const readRoutine = rowReader(routines);
export const toRunRow = rowReader(routine_runs);

export interface LockedRoutine {
  routine: typeof routines.$inferSelect;
  /** The transaction's instant. */
  now: Date;
}

/**
 * Locks the routine: its fires come one after the other, so that each sees the runs and issues of those before. What it
 * refers to and lies in the trash reads as null (decisions 10.6), so that the issue can be made all the same. Undefined where it is in the trash, or its company is. In front of all other row locks but that of its trigger.
 */
export async function lockRoutine(tx: Tx, id: string): Promise<LockedRoutine | undefined> {
  const { rows } = await tx.execute(sql`
    select ${shownRow('routines', 'r')}, now() as locked_at from routines r
    join companies c on c.id = r.company_id and c.deleted_at is null
    where r.id = ${id} and r.deleted_at is null for no key update of r`);
  const [raw] = rows;
  if (!raw) return undefined;
  return {
    routine: readRoutine(raw),
    now: new Date(String(raw.locked_at)),
  };
}
