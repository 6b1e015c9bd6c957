import type { Actor } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';

const { goals } = schema;

export type GoalRow = typeof goals.$inferSelect;
export type GoalLevel = 'company' | 'team' | 'agent' | 'task';

/** Undefined also for another company's and for a trashed one. */
export async function findGoal(tx: Tx, company_id: string, goal_id: string): Promise<GoalRow | undefined> {
  if (!isUuid(goal_id)) return undefined;
  const [row] = await tx
    .select()
    .from(goals)
    .where(and(eq(goals.id, goal_id), eq(goals.company_id, company_id), isNull(goals.deleted_at)));
  return row;
}

export interface NewGoal {
  title: string;
  description?: string | null;
  level?: GoalLevel;
  parent_goal_id?: string | null;
  owner_agent_id?: string | null;
}

/** The ids in it are the caller's to check: they must be the company's. */
export async function createGoal(tx: Tx, actor: Actor, company_id: string, input: NewGoal): Promise<GoalRow> {
  const [row] = await tx
    .insert(goals)
    .values({
      company_id,
      title: input.title,
      description: input.description,
      level: input.level,
      parent_goal_id: input.parent_goal_id,
      owner_agent_id: input.owner_agent_id,
    })
    .returning();
  await recordChanges(tx, actor, [
    {
      company_id,
      action: 'goal.created',
      entity_type: 'goal',
      entity_id: row!.id,
      details: { title: input.title },
    },
  ]);
  return row!;
}

/** What a prompt says of a goal. */
export interface GoalInChain {
  id: string;
  title: string;
  description: string | null;
  level: GoalLevel;
  status: string;
}

/** Longest chain that is followed. */
const MAX_CHAIN = 16;

/** The goal and the goals above it, nearest first, in one statement. A trashed goal ends the chain. */
export async function goalChain(tx: Tx, goal_id: string): Promise<GoalInChain[]> {
  const { rows } = await tx.execute<{ [K in keyof GoalInChain]: GoalInChain[K] }>(sql`
    with recursive chain as (
      select id, company_id, parent_goal_id, title, description, level, status, array[id] as path
      from goals where id = ${goal_id} and deleted_at is null
      union all
      select above.id, above.company_id, above.parent_goal_id, above.title, above.description, above.level, above.status,
        chain.path || above.id
      from chain join goals above on above.id = chain.parent_goal_id
        and above.company_id = chain.company_id and above.deleted_at is null
        and above.id <> all(chain.path)
      where cardinality(chain.path) < ${MAX_CHAIN}
    )
    select id, title, description, level, status from chain order by cardinality(path)`);
  return rows;
}
