import type { Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { returnWakeups } from '../wakeups/index.ts';
import { admitRuns, type AgentFacts } from './admission.ts';
import { endedChange } from './changes.ts';
import { afterRun, endRow, type Ended } from './end-run.ts';
import { agentFactColumns, agentPresent } from './plan.ts';
import { endTranscript } from './transcript.ts';
import type { RunRow } from './types.ts';

const LOST = 'run lost: scheduler stopped';
/** The `error_category` of a lost run; the next prompt asks for it. */
export const LOST_CATEGORY = 'lost';

const scheduler = systemActor('scheduler');

/**
 * Ends one run whose lease has lapsed by the database's clock: `failed` (or `cancelled`, where that was asked for),
 * its fence raised so that a scheduler that only slept can't write any more. Where none of its verbs had been applied
 * the run is tried once more by a fresh one; otherwise its wakeups stay consumed, and the next prompt tells the agent
 * what was done (decisions 8.3). A lost retry is not repeated: what kills schedulers must not do so for ever.
 *
 * For a transaction of its own per run, again until undefined; several schedulers may sweep at once.
 * @param except runs whose sweep has just failed, so that they don't stand in the way of the others.
 */
export async function sweepLostRun(tx: Tx, except: readonly string[] = []): Promise<RunRow | undefined> {
  const { rows } = await tx.execute<Lapsed>(sql`
    select r.id, r.agent_id, r.issue_id, r.cancel_requested_at is not null as cancelled
    from heartbeat_runs r join agents a on a.id = r.agent_id
    where r.status = 'running' and r.lease_expires_at < now()
      and r.id not in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(except)}::jsonb))
    order by r.lease_expires_at limit 1 for no key update of a skip locked`);
  const [lapsed] = rows;
  if (lapsed === undefined) return undefined;
  const ended = await endRow(
    tx,
    lapsed,
    {
      status: lapsed.cancelled ? 'cancelled' : 'failed',
      error: LOST,
      error_category: LOST_CATEGORY,
      summary: null,
      usage: null,
    },
    // Renewed, finished, swept or called off since the look: then it is not for us, or not in this way.
    sql`r.status = 'running' and r.lease_expires_at < clock_timestamp()
      and (r.cancel_requested_at is not null) = ${lapsed.cancelled}::boolean`,
  );
  if (ended === undefined) return undefined;
  const { id, status } = ended.run;
  await endTranscript(tx, ended.run, { error: { message: LOST, category: LOST_CATEGORY }, status });
  const applied = await hadApplied(tx, id);
  const retried = !applied && (await retry(tx, ended));
  const changes: Change[] = await afterRun(tx, ended, retried ? undefined : { changed: applied });
  await recordChanges(tx, scheduler, [...changes, endedChange(ended.run)]);
  return ended.run;
}

interface Lapsed extends Record<string, unknown> {
  id: string;
  agent_id: string;
  issue_id: string | null;
  cancelled: boolean;
}

/** Whether a verb of the run had changed something. */
async function hadApplied(tx: Tx, run_id: string): Promise<boolean> {
  const { rows } = await tx.execute(
    sql`select from run_actions where run_id = ${run_id} and mutating and ok limit 1`,
  );
  return rows.length > 0;
}

/** Through the admission like any run; what it refuses leaves the wakeups pending. @returns whether a retry was made. */
async function retry(tx: Tx, { run, issue }: Ended): Promise<boolean> {
  if (run.status !== 'failed' || run.retry_of_run_id !== null) return false;
  if (run.issue_id !== null && issue === null) return false;
  const wakeup_ids = await returnWakeups(tx, run.id);
  const { rows } = await tx.execute<{ [K in keyof AgentFacts]: AgentFacts[K] }>(
    sql`select ${agentFactColumns} from agents a where a.id = ${run.agent_id} and ${agentPresent}`,
  );
  const [agent] = rows;
  if (agent === undefined) return false;
  const holder = issue?.checked_out_by_agent_id ?? run.agent_id;
  const { runs } = await admitRuns(tx, scheduler, agent, [
    {
      issue_id: run.issue_id,
      wake_reason: run.wake_reason,
      trigger_detail: 'retry of a lost run',
      depth: run.depth,
      stalled_runs: issue?.stalled_runs ?? 0,
      held_by_other: holder !== run.agent_id,
      human: run.depth === 0,
      wakeup_ids,
      retry_of_run_id: run.id,
    },
  ]);
  return runs.length > 0;
}

// A queued run normally has its job; after so long it may have lost it.
const OFFER_AGAIN_SEC = 30;
// A backlog has its jobs already: each sweep adds few, and a claim for nothing costs little.
const MOST_OFFERS = 200;

/**
 * Offers queued runs again whose job was lost or spent: as many per agent as it has room for, oldest first.
 * @param waited_sec 0 where jobs are known to have been lost: after the death of a scheduler or a connection.
 * @returns how many.
 */
export async function sweepQueuedRuns(tx: Tx, waited_sec = OFFER_AGAIN_SEC): Promise<number> {
  const { rows } = await tx.execute<{ run_id: string }>(sql`
    select id as run_id from (
      select r.id, r.created_at, a.max_concurrent_runs,
        row_number() over (partition by r.agent_id order by r.created_at, r.id) as place,
        (select count(*) from heartbeat_runs x where x.agent_id = a.id and x.status = 'running') as running
      from heartbeat_runs r join agents a on a.id = r.agent_id
      where r.status = 'queued' and r.created_at < now() - make_interval(secs => ${waited_sec})
        and ${agentPresent} and a.status in ('idle', 'active', 'running', 'error')
    ) waiting
    where place <= max_concurrent_runs - running order by created_at, id limit ${MOST_OFFERS}`);
  await enqueueMany(tx, 'execute-run', rows);
  return rows.length;
}
