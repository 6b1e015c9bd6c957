import { type SQL, sql } from 'drizzle-orm';

/** The project whose budget pays for a run. `run` names a relation in the statement with the columns of runs. */
export function projectOfRun(run: string): SQL {
  return sql`(select i.project_id from issues i where i.id = ${sql.identifier(run)}.issue_id)`;
}

/**
 * An array of the scopes whose budgets apply to a run, for `budgetHeld`: its agent and that agent's ancestors, company and project. `run`
 * names a relation with the columns `company_id`, `agent_id` and `issue_id`.
 */
export function scopesOfRun(run: string): SQL {
  const row = sql.identifier(run);
  return sql`(array[${row}.agent_id, ${row}.company_id, ${projectOfRun(run)}] || ${ancestorsOf(sql`${row}.agent_id`)})`;
}

/** The same of the ids themselves; nulls are of no scope. */
export function scopesOf(of: {
  company_id: string;
  agent_id: string | null;
  project_id: string | null;
}): SQL {
  const { company_id, agent_id, project_id } = of;
  return sql`(array[${company_id}::uuid, ${agent_id}::uuid, ${project_id}::uuid] || ${ancestorsOf(sql`${agent_id}::uuid`)})`;
}

/** The chain of agents that spawned the agent: its spending counts towards their budgets. Usually empty. */
export function ancestorsOf(agent_id: SQL): SQL {
  return sql`coalesce((select above.ancestor_ids from agents above where above.id = ${agent_id}), '{}')`;
}
