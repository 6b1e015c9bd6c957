import type { Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { systemActor } from '../activity/index.ts';
import { agentPresent, type RunRow } from '../runs/index.ts';
import { admitHeartbeats } from './admit-heartbeats.ts';
import { planRuns, readWork } from './plan-runs.ts';

// The maximum number of concurrent runs of an agent.
const MOST_WAKEUPS = 100;

/**
 * The job `dispatch-agent`: admits the runs that the agent should have now, within what `max_concurrent_runs` leaves, and
 * enqueues its queued runs again if their jobs found it paused or full. Whatever can't run now stays pending: the end of the
 * run in its way, a resume or an unblocking dispatches again.
 */
export async function dispatchAgent(tx: Tx, agent_id: string): Promise<RunRow[]> {
  // A separate statement: reading after the wait for the lock needs a newer snapshot, or two dispatches of one agent would
  // each fill the same slots.
  const locked = await tx.execute(
    sql`select a.id from agents a where a.id = ${agent_id} and ${agentPresent} for no key update of a`,
  );
  if (locked.rows.length === 0) return [];
  const work = await readWork(tx, agent_id, MOST_WAKEUPS);
  if (work === undefined) return [];
  await enqueueMany(
    tx,
    'execute-run',
    work.unclaimed.map((run_id) => ({ run_id })),
  );
  const { admitted } = await admitHeartbeats(tx, systemActor('scheduler'), work, planRuns(work));
  return admitted.map(({ run }) => run);
}
