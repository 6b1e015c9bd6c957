import type { Tx } from '@acp/db';
import type { Said } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { systemActor } from '../activity/index.ts';
import { admitRuns } from './admit-runs.ts';
import { readAgentFacts } from './agent-facts.ts';
import { type EndedRun, runKind } from './run-kinds.ts';
import type { RunRow } from './types.ts';

/** The category of a run that the instance itself interrupted. */
export const LOST_CATEGORY = 'lost';

const scheduler = systemActor('scheduler');

/**
 * Retries a run that the instance interrupted before any of its verbs took effect, through the admission like any run. A
 * retry is not retried: whatever kills schedulers must not do so forever. If a verb was applied, the next prompt shows the
 * agent what was done (decisions 8.3).
 * @returns whether there is a second run, and whether a verb of an interrupted run had taken effect
 */
export async function retryRun(
  tx: Tx,
  ended: Pick<EndedRun, 'run' | 'subject'>,
): Promise<{ retried: boolean; applied: boolean }> {
  const { run } = ended;
  if (run.error_category !== LOST_CATEGORY) return { retried: false, applied: false };
  const applied = await hasApplied(tx, run.id);
  const again = !applied && run.status === 'failed' && run.retry_of_run_id === null;
  return { applied, retried: again && (await tryAgain(tx, ended)) };
}

async function tryAgain(tx: Tx, ended: Pick<EndedRun, 'run' | 'subject'>): Promise<boolean> {
  const { run } = ended;
  const kind = runKind(run.kind);
  if (!kind.retries) return false;
  const admit = async (objection: string | Said | null) => admitAgain(tx, run, objection);
  if (kind.retry) return kind.retry(tx, ended, admit);
  return (await admit(null)) !== undefined;
}

/** Whether a verb of the run changed something. */
async function hasApplied(tx: Tx, run_id: string): Promise<boolean> {
  const { rows } = await tx.execute(
    sql`select from run_actions where run_id = ${run_id} and mutating and ok limit 1`,
  );
  return rows.length > 0;
}

async function admitAgain(tx: Tx, run: RunRow, objection: string | Said | null): Promise<RunRow | undefined> {
  const agent = await readAgentFacts(tx, run.agent_id);
  if (agent === undefined) return undefined;
  const { kind, subject_id, issue_id, payload, wake_reason, depth, private_to_user_id } = run;
  const { admitted } = await admitRuns(tx, scheduler, agent, [
    {
      kind,
      subject_id,
      issue_id,
      payload,
      wake_reason,
      depth,
      private_to_user_id,
      objection,
      trigger_detail: 'retry of a lost run',
      retry_of_run_id: run.id,
    },
  ]);
  return admitted[0]?.run;
}
