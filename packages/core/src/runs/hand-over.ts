/** Runs that go on outside of any scheduler (decisions 7.25): running without a lease, so that no sweep takes them. */
import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { endedChange } from './changes.ts';
import { afterRun, endRow } from './end-run.ts';
import { endTranscript } from './transcript.ts';
import type { RunLease } from './types.ts';

const scheduler = systemActor('scheduler');

/**
 * Gives up the lease. The fence is raised: what the scheduler that had it still sends changes nothing. One that is
 * called off meanwhile goes too: who waits for the task ends it.
 * @returns false when the run is no longer ours: then the caller rolls back.
 */
export async function handOverRun(tx: Tx, lease: RunLease): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    update heartbeat_runs set lease_expires_at = null, fence = fence + 1
    where id = ${lease.run_id} and fence = ${lease.fence} and status = 'running'
    returning id`);
  return rows.length > 0;
}

/**
 * Ends such a run without a result, its transcript told why.
 * @param condition what must still hold, over the locked run `r`
 * @returns false when it has ended, or the condition does not hold any more: nothing was written.
 */
export async function endHandedOverRun(
  tx: Tx,
  run: { id: string; agent_id: string; issue_id: string | null },
  end: { status: 'failed' | 'cancelled'; error: string; error_category: string },
  condition: SQL,
): Promise<boolean> {
  const ended = await endRow(
    tx,
    run,
    { ...end, summary: null, usage: null },
    sql`r.status = 'running' and r.lease_expires_at is null and ${condition}`,
  );
  if (ended === undefined) return false;
  const error = { message: end.error, category: end.error_category };
  await endTranscript(tx, ended.run, { error, status: end.status });
  const changes = await afterRun(tx, ended, end.status === 'cancelled' ? undefined : { changed: false });
  await recordChanges(tx, scheduler, [...changes, endedChange(ended.run)]);
  return true;
}
