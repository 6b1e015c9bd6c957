import { isSubprocessAdapter } from '@acp/contract';
import type { Tx } from '@acp/db';
import { enqueue } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { budgetHeld, mintRunKey, noteRunStarted } from '../agents/index.ts';
import { checkoutForRun } from '../issues/index.ts';
import { consumeWakeups, returnWakeups } from '../wakeups/index.ts';
import { endedChange, startedChange } from './changes.ts';
import { offerNext } from './end-run.ts';
import { type Pick, pickRun, runScopes } from './pick.ts';
import { effectiveAdapter } from './plan.ts';
import { runRow } from './rows.ts';
import { endTranscript } from './transcript.ts';
import type { ClaimedRun, RunRow } from './types.ts';

// Picks are made on a snapshot that may be older than their lock; so many in a row that turn out to be of the past
// only happen in a press of claims.
const ATTEMPTS = 8;

interface Started {
  run: RunRow;
  agent_name: string;
  permissions: Record<string, boolean>;
  has_wakeups: boolean;
  budgeted: boolean;
}

/**
 * Makes the fairest queued run (`pickRun`) running and the caller's: fence and lease taken, issue checked out, wakeups
 * consumed. Undefined when none may start now, or when the run's issue turned out to be held by another agent: that
 * run is cancelled, its wakeups wait again. For a transaction of its own, which holds no locks before.
 */
export async function claimRun(
  tx: Tx,
  options: { claimed_by: string; lease_sec: number },
): Promise<ClaimedRun | undefined> {
  let wait = false;
  let waiting: string | null = null;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const pick: Pick = await pickRun(tx, wait);
    waiting = pick.waiting_run_id;
    if (waiting === null) return undefined;
    const { agent_id, company_limit } = pick;
    if (agent_id !== null) {
      const alone = company_limit === null || (await holdCompany(tx, agent_id, attempt === 1));
      const started = alone && (await startRun(tx, agent_id, { ...options, company_limit }));
      if (started) return completeClaim(tx, started);
      wait = false;
    } else if (attempt === 1) {
      // All candidates' agents are busy with others' claims. Only who holds no lock yet may wait for one.
      wait = true;
    } else {
      break;
    }
  }
  // The job that brought us here is spent, and the run still waits.
  if (waiting !== null) await enqueue(tx, 'execute-run', { run_id: waiting });
  return undefined;
}

/**
 * One claim of a company at a time, where companies have a limit: its agents' locks are several, and what is counted
 * under one of them may change under another.
 * @param wait only for who holds no other company yet: two that wait for each other's would do so for ever.
 */
async function holdCompany(tx: Tx, agent_id: string, wait: boolean): Promise<boolean> {
  const lock = sql.raw(wait ? 'pg_advisory_xact_lock' : 'pg_try_advisory_xact_lock');
  const { rows } = await tx.execute<{ held: unknown }>(sql`
    select ${lock}(hashtextextended('runs of ' || a.company_id, 0)) as held from agents a where a.id = ${agent_id}`);
  return wait || rows[0]?.held === true;
}

/**
 * The oldest queued run of the agent that no budget holds back. Under the agent's lock no other claim and no end of a run of this agent can come
 * in between: what is checked here holds. The issue's row is locked ahead of the run's (agent > issue > run).
 */
async function startRun(
  tx: Tx,
  agent_id: string,
  options: { claimed_by: string; lease_sec: number; company_limit: number | null },
): Promise<Started | undefined> {
  const { rows } = await tx.execute(sql`
    with oldest as materialized (
      select r.id, r.issue_id from heartbeat_runs r
      where r.agent_id = ${agent_id} and r.status = 'queued'
        and not ${budgetHeld(runScopes)}
      order by r.created_at, r.id limit 1
    ), issue as materialized (
      select i.id from issues i, oldest where i.id = oldest.issue_id for no key update of i
    )
    update heartbeat_runs r set status = 'running', claimed_by = ${options.claimed_by}, fence = r.fence + 1,
      adapter_type = ${effectiveAdapter},
      started_at = clock_timestamp(), lease_expires_at = clock_timestamp() + make_interval(secs => ${options.lease_sec})
    from agents a, oldest left join issue on true
    where r.id = oldest.id and a.id = r.agent_id and r.status = 'queued'
      and a.deleted_at is null and a.status in ('idle', 'active', 'running', 'error')
      and (select count(*) from heartbeat_runs x where x.agent_id = a.id and x.status = 'running') < a.max_concurrent_runs
      and (${options.company_limit}::int is null or (select count(*) from heartbeat_runs x
        where x.company_id = r.company_id and x.status = 'running') < ${options.company_limit}::int)
    returning r.*, a.name as agent_name, a.permissions as agent_permissions,
      exists (select from wakeup_requests w where w.run_id = r.id and w.status = 'pending') as has_wakeups,
      exists (select from budget_policies p where p.company_id = r.company_id and p.enabled) as budgeted`);
  const [raw] = rows;
  if (raw === undefined) return undefined;
  return {
    run: runRow(raw),
    agent_name: String(raw.agent_name),
    permissions: raw.agent_permissions as Record<string, boolean>,
    has_wakeups: raw.has_wakeups === true,
    budgeted: raw.budgeted === true,
  };
}

async function completeClaim(tx: Tx, started: Started): Promise<ClaimedRun | undefined> {
  const { run } = started;
  const checkout =
    run.issue_id === null ? null : await checkoutForRun(tx, run.issue_id, run.agent_id, run.id);
  if (checkout === undefined) {
    await giveUp(tx, run);
    return undefined;
  }
  if (checkout?.held_before) {
    await tx.execute(sql`update heartbeat_runs set held_before = true where id = ${run.id}`);
  }
  if (started.has_wakeups) await consumeWakeups(tx, run.id);
  const agentChanges = await noteRunStarted(tx, run.agent_id, run.id);
  const api_key = isSubprocessAdapter(run.adapter_type) ? await mintRunKey(tx, run) : null;
  const claimed = claimedRun(started, checkout?.held_before ?? false, api_key);
  await recordChanges(tx, claimed.actor, [startedChange(run), ...(checkout?.changes ?? []), ...agentChanges]);
  return claimed;
}

/**
 * Another agent took the issue since the admission. The job that brought us here is spent, so the next run gets one; and what
 * waited for the end of this one is dispatched, as after any other end.
 */
async function giveUp(tx: Tx, run: RunRow): Promise<void> {
  const error = { message: 'issue is checked out by another agent', category: 'conflict' };
  const { rows } = await tx.execute(sql`
    update heartbeat_runs set status = 'cancelled', error = ${error.message},
      finished_at = clock_timestamp(), lease_expires_at = null
    where id = ${run.id} returning *`);
  await endTranscript(tx, run, { error, status: 'cancelled' });
  await returnWakeups(tx, run.id);
  await offerNext(tx, { run, next_run_id: run.id });
  await recordChanges(tx, systemActor('scheduler'), rows.map(runRow).map(endedChange));
}

function claimedRun(started: Started, held_before: boolean, api_key: string | null): ClaimedRun {
  const { run } = started;
  return {
    run_id: run.id,
    company_id: run.company_id,
    fence: run.fence,
    agent_id: run.agent_id,
    issue_id: run.issue_id,
    wake_reason: run.wake_reason,
    trigger_detail: run.trigger_detail,
    adapter_type: run.adapter_type,
    retry_of_run_id: run.retry_of_run_id,
    held_before,
    api_key,
    budgeted: started.budgeted,
    actor: {
      kind: 'agent',
      agent_id: run.agent_id,
      company_id: run.company_id,
      name: started.agent_name,
      key_id: null,
      permissions: started.permissions,
      run_id: run.id,
      depth: run.depth,
    },
  };
}
