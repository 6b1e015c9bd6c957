import { rowReader, schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { shownColumns, shownRow } from '../trash/index.ts';

const { routine_runs, routine_triggers, routines } = schema;

export type RoutineRow = typeof routines.$inferSelect & { next_fire_at: Date | null };
export type TriggerRow = typeof routine_triggers.$inferSelect;
export type RoutineRunRow = typeof routine_runs.$inferSelect;

/** A routine's columns, and the earliest fire of its schedules. The names are those of an unaliased table. */
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
  /** The transaction's timestamp. */
  now: Date;
}

/**
 * Locks the routine, which serialises its fires, so that each sees the runs and issues of earlier ones. References to trashed
 * entities read as null (decisions 10.6), so that the issue can be created anyway. Undefined if the routine or its company is in
 * the trash. Precedes all other row locks except that of its trigger.
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
