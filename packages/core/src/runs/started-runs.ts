/** Runs that a claim has just started, as its next statements see them: so these can travel with the start, without its answer. */
import { type SQL, sql } from 'drizzle-orm';

const STARTED = sql.raw(`'acp.started_runs'`);

/** SQL: a select that leaves the runs of `relation`, if any, to `startedRuns`. */
export function publishStartedRuns(relation: string): SQL {
  const run = sql.identifier(relation);
  return sql`select set_config(${STARTED}, coalesce(jsonb_agg(jsonb_build_object(
      'run_id', ${run}.id, 'agent_id', ${run}.agent_id, 'issue_id', ${run}.issue_id, 'kind', ${run}.kind)), '[]')::text, true)
    from ${run}`;
}

/** SQL: a select of `run_id`, `agent_id` and `issue_id` of the runs of that kind that the transaction has started last. */
export const startedRuns = (kind: string): SQL => sql`
  select b.run_id, b.agent_id, b.issue_id
  from jsonb_to_recordset(coalesce(nullif(current_setting(${STARTED}, true), ''), '[]')::jsonb)
    as b(run_id uuid, agent_id uuid, issue_id uuid, kind text)
  where b.kind = ${kind}`;
