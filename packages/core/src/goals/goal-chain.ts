import { type SQL, sql } from 'drizzle-orm';

/** Longest chain that is followed. */
const MAX_CHAIN = 16;

/**
 * Expression of a goal and the goals above it as a JSON array, nearest first, for a statement that reads more: `{title, description,
 * level, status}` each. Null where there is none. A trashed goal, another company's, and one that was met before end the chain.
 */
export function goalChain(company_id: SQL, goal_id: SQL): SQL {
  return sql`(
    with recursive chain as (
      select id, parent_goal_id, title, description, level, status, array[id] as path
      from goals where id = ${goal_id} and company_id = ${company_id} and deleted_at is null
      union all
      select above.id, above.parent_goal_id, above.title, above.description, above.level, above.status,
        chain.path || above.id
      from chain join goals above on above.id = chain.parent_goal_id
        and above.company_id = ${company_id} and above.deleted_at is null
        and above.id <> all(chain.path)
      where cardinality(chain.path) < ${MAX_CHAIN}
    )
    select jsonb_agg(jsonb_build_object('title', title, 'description', description, 'level', level, 'status', status)
      order by cardinality(path)) from chain)`;
}
