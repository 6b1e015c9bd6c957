import type { Actor, CreateGoal, Goal, UpdateGoal } from '@acp/contract';
import { inOrder, schema, type Tx } from '@acp/db';
import { conflict, invalid, notFound, said } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { lockCompany } from '../companies/index.ts';
import {
  assertReferences,
  DEEPEST,
  hasRoomBelow,
  levelsFrom,
  moveToTrash,
  purgeOldTrash,
  withoutUnchanged,
} from '../trash/index.ts';
import { type GoalRow, presentGoal, goalColumns } from './present.ts';

const { goals } = schema;

/** @throws invalid for a parent or owner from another company */
export async function createGoal(tx: Tx, actor: Actor, company_id: string, input: CreateGoal): Promise<Goal> {
  await assertReferences(tx, 'goals', company_id, input);
  await assertRoom(tx, 'goals', company_id);
  const [row] = await tx
    .insert(goals)
    .values({ company_id, ...fieldsOf(input), title: input.title })
    .returning(goalColumns);
  await recordChanges(tx, actor, [changeOf(row!, 'goal.created')]);
  return presentGoal(row!);
}

/** Changes a goal; absent fields stay. @throws invalid like `createGoal`, and if the tree would contain a cycle */
export async function updateGoal(tx: Tx, actor: Actor, goal: GoalRow, body: UpdateGoal): Promise<Goal> {
  const input = withoutUnchanged('goals', goal, body);
  if (input.parent_goal_id) await assertMayBeParent(tx, goal, input.parent_goal_id);
  await assertReferences(tx, 'goals', goal.company_id, input, goal.id);
  const [row] = await tx
    .update(goals)
    .set({ ...fieldsOf(input), updated_at: sql`now()` })
    .where(and(eq(goals.id, goal.id), isNull(goals.deleted_at)))
    .returning(goalColumns);
  if (!row) throw notFound();
  await recordChanges(tx, actor, [changeOf(row, 'goal.updated', { fields: Object.keys(input) })]);
  return presentGoal(row);
}

/** Moves it to the trash; its descendants count as absent until it is restored. */
export async function deleteGoal(tx: Tx, actor: Actor, goal: GoalRow): Promise<void> {
  const [row] = await tx
    .update(goals)
    .set({ deleted_at: sql`now()`, updated_at: sql`now()` })
    .where(and(eq(goals.id, goal.id), isNull(goals.deleted_at)))
    .returning(goalColumns);
  if (!row) throw notFound();
  const { id, company_id, title } = row;
  await moveToTrash(tx, actor, { type: 'goal', entity_id: id, company_id, name: title });
  await recordChanges(tx, actor, [changeOf(row, 'goal.deleted')]);
}

/** Restores it from the trash. @throws conflict if it is not there */
export async function restoreGoal(tx: Tx, actor: Actor, goal_id: string): Promise<void> {
  const [row] = await tx
    .update(goals)
    .set({ deleted_at: null, updated_at: sql`now()` })
    .where(eq(goals.id, goal_id))
    .returning(goalColumns);
  if (!row) throw conflict('the goal is gone');
  await recordChanges(tx, actor, [changeOf(row, 'goal.restored')]);
}

/** Deletes the goal and its descendants for good. @returns the deleted ids */
export async function purgeGoal(tx: Tx, goal_id: string): Promise<string[]> {
  const withDescendants = sql`with recursive below as (
      select ${goal_id}::uuid as id
      union
      select child.id from below join goals child on child.parent_goal_id = below.id
    )`;
  const { rows: going } = await tx.execute<{ id: string }>(sql`${withDescendants} select id from below`);
  // Entries are locked before what they are of: one of those below may be on its way back.
  await purgeOldTrash(
    tx,
    going.map(({ id }) => id),
  );
  const { rows } = await tx.execute<{ id: string }>(sql`
    ${withDescendants} delete from goals where ${inOrder(goals, sql`id in (select id from below)`)} returning id`);
  return rows.map(({ id }) => id);
}

function fieldsOf(input: UpdateGoal) {
  const { title, description, level, status, parent_goal_id, owner_agent_id } = input;
  return { title, description, level, status, parent_goal_id, owner_agent_id };
}

/** Locks the company: two concurrent changes of the tree could otherwise create a cycle. */
async function assertMayBeParent(tx: Tx, goal: GoalRow, parent_id: string): Promise<void> {
  await lockCompany(tx, goal.company_id);
  const { rows: levels } = await tx.execute<{ levels: number }>(
    sql`select ${levelsFrom('goals', goal.id)} as levels`,
  );
  const { rows } = await tx.execute<{ circle: boolean; room: boolean }>(sql`
    with recursive above as (
      select id, parent_goal_id from goals where id = ${parent_id}
      union
      select goals.id, goals.parent_goal_id from above join goals on goals.id = above.parent_goal_id
    )
    select exists (select from above where id = ${goal.id}) as circle,
      ${hasRoomBelow('goals', parent_id, levels[0]?.levels)} as room`);
  if (rows[0]?.circle) throw invalid('parent_goal_id would create a cycle');
  if (!rows[0]?.room) throw invalid(said`parent_goal_id: at most ${DEEPEST} levels`);
}

function changeOf(row: GoalRow, action: string, details: Record<string, unknown> = {}): Change {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'goal',
    entity_id: row.id,
    details: { title: row.title, ...details },
  };
}
