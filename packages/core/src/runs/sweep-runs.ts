import { type Tx, wakeableAgentStatuses } from '@acp/db';
import { stated } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { type SQL, sql } from 'drizzle-orm';
import { systemActor } from '../activity/index.ts';
import { endRun, lockedAround } from './end-run.ts';
import { someQueued } from './pick-run.ts';
import { loggedUsage } from './logged-usage.ts';
import { LOST_CATEGORY } from './retry-run.ts';
import { runRow } from './rows.ts';
import { knownKinds } from './run-kinds.ts';
import type { RunResult, RunRow } from './types.ts';

const scheduler = systemActor('scheduler');

/** The end of a run could not be written: `run_id` is the run, `cause` the reason. */
export class LostRunNotEnded extends Error {
  readonly run_id: string;

  constructor(run_id: string, cause: unknown) {
    super(`lost run ${run_id} could not be ended`, { cause });
    this.name = 'LostRunNotEnded';
    this.run_id = run_id;
  }
}

/**
 * Ends one run whose lease has expired by the database's clock: `failed` (or `cancelled`, if that was requested), its fence
 * raised so that a scheduler that only slept can no longer write; `retryRun` may retry it. A run that had been taken back from
 * outside is handed over again: its result is still available.
 *
 * For a transaction of its own per run, repeated until undefined; several schedulers may sweep at the same time.
 * @param except runs whose sweep has just failed, so that they don't block the others
 * @throws LostRunNotEnded
 */
export async function sweepLostRun(tx: Tx, except: readonly string[] = []): Promise<RunRow | undefined> {
  const { rows } = await tx.execute(sql`
    select r.* from heartbeat_runs r join agents a on a.id = r.agent_id
    where r.status = 'running' and r.lease_expires_at < now() and r.kind in (${knownKinds()})
      and r.id not in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(except)}::jsonb))
    order by r.lease_expires_at limit 1 for no key update of a skip locked`);
  if (rows[0] === undefined) return undefined;
  const lapsed = runRow(rows[0]);
  // If it was renewed, finished or swept since the select, it is not ours.
  const still = sql`r.status = 'running' and r.lease_expires_at < clock_timestamp()`;
  try {
    if (lapsed.handed_over_at !== null) return await clearLease(tx, lapsed.id, still);
    await awaitWriter(tx, lapsed);
    const result = { ...lostResult, usage: await loggedUsage(tx, lapsed) };
    return await endRun(tx, lapsed, { result, actor: scheduler }, still);
  } catch (err) {
    throw new LostRunNotEnded(lapsed.id, err);
  }
}

const lostResult: Omit<RunResult, 'usage'> = {
  failure: { category: LOST_CATEGORY, message: stated('run lost: scheduler stopped') },
  text: null,
  changed: false,
};

/**
 * Its previous owner may be adding to the transcript right now. Once the run is locked, the next statement sees those entries
 * and numbers the last ones after them; otherwise they would have the same numbers, and be dropped.
 */
async function awaitWriter(tx: Tx, run: RunRow): Promise<void> {
  await tx.execute(sql`
    with ${lockedAround(run)} select from heartbeat_runs r, agent left join subject on true
    where r.id = ${run.id} for no key update of r`);
}

async function clearLease(tx: Tx, run_id: string, still: SQL): Promise<RunRow | undefined> {
  const { rows } = await tx.execute(sql`
    update heartbeat_runs r set lease_expires_at = null, fence = r.fence + 1
    where r.id = ${run_id} and ${still} returning r.*`);
  return rows[0] && runRow(rows[0]);
}

// A run that can't be ended may stay so for a while and is not tried every second.
const POSTPONED_SEC = 60;

/** Postpones a run that could not be ended by extending its lease, which its owner may renew. */
export async function postponeLostRun(tx: Tx, run_id: string): Promise<void> {
  await tx.execute(sql`
    update heartbeat_runs set lease_expires_at = clock_timestamp() + make_interval(secs => ${POSTPONED_SEC})
    where id = ${run_id} and status = 'running' and lease_expires_at < clock_timestamp()`);
}

// A queued run normally has its job; after this long it may have lost it.
const OFFER_AGAIN_SEC = 30;
// A backlog has its jobs already: each sweep adds few, and a claim that finds nothing is cheap.
const MOST_OFFERS = 200;
// Number of runs checked, however long the queue is.
const FRONT = 1000;

/**
 * Enqueues jobs again for queued runs whose job was lost or used up: as many per agent as it has room for, oldest first. Each
 * sweep of a long queue checks its front and a different sample of companies. An admission takes no lock on the agent, so its
 * run may appear after the agent or the company was settled: these are settled once more, which cancels the run.
 * @param waited_sec 0 if jobs are known to have been lost: after the death of a scheduler or a connection
 * @returns how many
 */
export async function sweepQueuedRuns(tx: Tx, waited_sec = OFFER_AGAIN_SEC): Promise<number> {
  const { rows } = await tx.execute<{
    run_id: string;
    agent_id: string;
    company_id: string;
    job: QueuedJob;
  }>(sql`
    select id as run_id, agent_id, company_id, job from (
      select r.id, r.agent_id, r.company_id, r.created_at, a.max_concurrent_runs,
        row_number() over (partition by r.agent_id order by r.created_at, r.id) as place,
        (select count(*) from heartbeat_runs x
          where x.company_id = a.company_id and x.agent_id = a.id and x.status = 'running') as running,
        case when c.deleted_at is not null then 'settle-company'
          when a.deleted_at is not null or a.status = 'terminated' then 'settle-agent'
          when a.status in ${wakeableAgentStatuses} then 'execute-run' end as job
      from (${someQueued(FRONT)}) looked_at
      join heartbeat_runs r on r.id = looked_at.id join agents a on a.id = r.agent_id
      join companies c on c.id = r.company_id
      where r.status = 'queued' and r.created_at < now() - make_interval(secs => ${waited_sec})
    ) waiting
    where case job when 'execute-run' then place <= max_concurrent_runs - running else job is not null and place = 1 end
    order by created_at, id limit ${MOST_OFFERS}`);
  const of = (job: QueuedJob) => rows.filter((row) => row.job === job);
  const runs = of('execute-run').map(({ run_id }) => ({ run_id }));
  const gone = of('settle-agent').map(({ agent_id }) => ({ agent_id }));
  const closed = new Set(of('settle-company').map(({ company_id }) => company_id));
  await enqueueMany(tx, 'execute-run', runs);
  await enqueueMany(tx, 'settle-agent', gone);
  await enqueueMany(
    tx,
    'settle-company',
    [...closed].map((company_id) => ({ company_id })),
  );
  return runs.length + gone.length + closed.size;
}

type QueuedJob = 'execute-run' | 'settle-agent' | 'settle-company';
