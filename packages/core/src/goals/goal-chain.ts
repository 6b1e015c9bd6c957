import type { Goal } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/** What a prompt says of a goal. */
export type GoalInChain = Pick<Goal, 'id' | 'title' | 'description' | 'level' | 'status'>;

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
