import type { Actor, CreateRoutine, Routine, UpdateRoutine } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, notFound } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { moveToTrash } from '../trash/index.ts';
import { withoutUnchanged } from '../trash/index.ts';
import { assertRoutine } from './policy.ts';
import { presentRoutine } from './present.ts';
import { lockRoutine, type RoutineRow, routineColumns } from './rows.ts';
import { lockSchedules, rescheduleTriggers } from './schedule-triggers.ts';

const { routines } = schema;

/** @throws invalid for a reference from another company, forbidden for an agent that may not create such issues, or assign them */
export async function createRoutine(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateRoutine,
): Promise<Routine> {
  const row = await insertRoutine(tx, actor, company_id, input);
  await recordChanges(tx, actor, [changeOf(row, 'routine.created', { status: row.status })]);
  return presentRoutine(row);
}

/** The routine without its activity, for a command that records more of it. */
export async function insertRoutine(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateRoutine,
): Promise<RoutineRow> {
  await assertRoutine(tx, actor, company_id, input);
  await assertRoom(tx, 'routines', company_id);
  const [row] = await tx
    .insert(routines)
    .values({
      company_id,
      name: input.name,
      description: input.description,
      assignee_agent_id: input.assignee_agent_id,
      project_id: input.project_id,
      goal_id: input.goal_id,
      title_template: input.title_template ?? input.name,
      body_template: input.body_template,
      priority: input.priority,
      status: input.status,
      concurrency_policy: input.concurrency_policy,
    })
    .returning();
  return { ...row!, next_fire_at: null };
}

/** Changes a routine; absent fields stay. On becoming active again it makes up for nothing. @throws like `createRoutine` */
export async function updateRoutine(
  tx: Tx,
  actor: Actor,
  subject: RoutineRow,
  body: UpdateRoutine,
): Promise<Routine> {
  const input = withoutUnchanged('routines', subject, body);
  const schedules = input.status === 'active' ? await lockSchedules(tx, subject.id) : [];
  // The scope's row may be outdated: who may change the routine depends on its assignee.
  const routine = (await lockRoutine(tx, subject.id))?.routine;
  if (!routine) throw notFound();
  await assertRoutine(tx, actor, routine.company_id, input, routine);
  if (routine.status !== 'active') await rescheduleTriggers(tx, schedules);
  const { name, description, assignee_agent_id, project_id, goal_id, title_template, body_template } = input;
  const { priority, status, concurrency_policy } = input;
  const texts = { name, description, title_template, body_template };
  const references = { assignee_agent_id, project_id, goal_id };
  const set = { ...texts, ...references, priority, status, concurrency_policy };
  const row = await change(tx, routine, set);
  await recordChanges(tx, actor, [changeOf(row, 'routine.updated', { fields: Object.keys(input) })]);
  return presentRoutine(row);
}

/** Moves it to the trash (decisions 7.6): its triggers stay as they are but no longer fire. */
export async function deleteRoutine(tx: Tx, actor: Actor, routine: RoutineRow): Promise<void> {
  const { id, company_id, name } = await change(tx, routine, { deleted_at: sql`now()` });
  await moveToTrash(tx, actor, { type: 'routine', entity_id: id, company_id, name });
  await recordChanges(tx, actor, [changeOf(routine, 'routine.deleted')]);
}

/** Restores it from the trash. Missed fires are not made up for. @throws conflict if it is not there */
export async function restoreRoutine(tx: Tx, actor: Actor, routine_id: string): Promise<void> {
  await rescheduleTriggers(tx, await lockSchedules(tx, routine_id));
  const [row] = await tx
    .update(routines)
    .set({ deleted_at: null, updated_at: sql`now()` })
    .where(eq(routines.id, routine_id))
    .returning(routineColumns);
  if (!row) throw conflict('the routine is gone');
  await recordChanges(tx, actor, [changeOf(row, 'routine.restored')]);
}

/** Deletes it for good, with triggers and runs; issues it created stay. @returns the deleted ids */
export async function purgeRoutine(tx: Tx, routine_id: string): Promise<string[]> {
  await tx.delete(routines).where(eq(routines.id, routine_id));
  return [routine_id];
}

type Columns = Parameters<ReturnType<Tx['update']>['set']>[0];

async function change(tx: Tx, routine: Pick<RoutineRow, 'id'>, set: Columns): Promise<RoutineRow> {
  const [row] = await tx
    .update(routines)
    .set({ ...set, updated_at: sql`now()` })
    .where(and(eq(routines.id, routine.id), isNull(routines.deleted_at)))
    .returning(routineColumns);
  if (!row) throw notFound();
  return row;
}

export function changeOf(
  row: Pick<RoutineRow, 'id' | 'company_id' | 'name'>,
  action: string,
  details: Record<string, unknown> = {},
): Change {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'routine',
    entity_id: row.id,
    details: { name: row.name, ...details },
  };
}
