import { hasStatus, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { endRun } from './end-run.ts';
import type { ClaimedRun, RunResult } from './types.ts';

/**
 * The end of a run by the owner of its lease, in one transaction: eight statements for a heartbeat, including the end of its
 * transcript.
 * @param takeNext called with a queued run that this one may have been blocking; without it, that run gets a job
 * @returns false if the run is no longer ours: nothing was written, the caller rolls back
 */
export async function finishRun(
  tx: Tx,
  run: ClaimedRun,
  result: RunResult,
  takeNext?: (run_id: string) => void,
): Promise<boolean> {
  const { run_id: id, agent_id, subject_id, kind, actor } = run;
  const held = sql`r.fence = ${run.fence} and ${hasStatus('running')}`;
  const of = { id, agent_id, subject_id, kind };
  return (await endRun(tx, of, { result, actor, takeNext }, held)) !== undefined;
}
