import { type SQL, sql } from 'drizzle-orm';

/** The project whose budget pays for a run. `run` names a relation of the statement with the columns of runs. */
export function projectOfRun(run: string): SQL {
  return sql`(select i.project_id from issues i where i.id = ${sql.identifier(run)}.issue_id)`;
}

/** What may bound the spending of a run: agent, company and project, for `budgetHeld`. */
export function scopesOfRun(run: string): SQL {
  const row = sql.identifier(run);
  return sql`${row}.agent_id, ${row}.company_id, ${projectOfRun(run)}`;
}
