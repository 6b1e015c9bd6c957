import { type SQL, sql } from 'drizzle-orm';

/** The project whose budget pays for a run. `run` names a relation of the statement with the columns of runs. */
export function projectOfRun(run: string): SQL {
  return sql`(select i.project_id from issues i where i.id = ${sql.identifier(run)}.issue_id)`;
}

/**
 * What may bound the spending of a run, for `budgetHeld`: its agent and those above it, company and project. `run` names a
 * relation with the columns `company_id`, `agent_id` and `issue_id`.
 */
export function scopesOfRun(run: string): SQL {
  const row = sql.identifier(run);
  return sql`select unnest(array[${row}.agent_id, ${row}.company_id, ${projectOfRun(run)}] || ${ancestorsOf(sql`${row}.agent_id`)})`;
}

/** Who spawned the agent, and who spawned those: what it spends counts towards their budgets. Empty for all others. */
export function ancestorsOf(agent_id: SQL): SQL {
  return sql`coalesce((select above.ancestor_ids from agents above where above.id = ${agent_id}), '{}')`;
}
