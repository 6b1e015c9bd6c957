import { type SQL, sql } from 'drizzle-orm';

/** Maximum length of a chain. */
const MAX_CHAIN = 16;
/** Of a description, in characters: prompts show less. */
const LONGEST = 10_000;

/**
 * SQL expression for a goal and its ancestors as a JSON array, nearest first: `{title, description, level, status}` each. Null if
 * there is none. The chain ends at a trashed goal, another company's goal, and one that is already in it.
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
    select jsonb_agg(jsonb_build_object('title', title, 'description', left(description, ${LONGEST}), 'level', level, 'status', status)
      order by cardinality(path)) from chain)`;
}
