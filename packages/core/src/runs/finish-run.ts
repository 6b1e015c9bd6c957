import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { endRun } from './end-run.ts';
import type { ClaimedRun, RunResult } from './types.ts';

/** The category of a run that a budget ended. */
export const BUDGET_CATEGORY = 'budget';

/**
 * The end of a run by the owner of its lease, in one transaction: eight statements for a heartbeat, including the end of its
 * transcript.
 * @returns false if the run is no longer ours: nothing was written, the caller rolls back
 */
export async function finishRun(tx: Tx, run: ClaimedRun, result: RunResult): Promise<boolean> {
  const { run_id: id, agent_id, subject_id, kind, actor } = run;
  const held = sql`r.fence = ${run.fence} and r.status = 'running'`;
  return (await endRun(tx, { id, agent_id, subject_id, kind }, { result, actor }, held)) !== undefined;
}
