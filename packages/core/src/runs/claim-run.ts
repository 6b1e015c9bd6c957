import { adapterTraits, type Pricing } from '@acp/contract';
import { type Tx, signal, wakeableAgentStatuses } from '@acp/db';
import { enqueue } from '@acp/queue';
import { type SQL, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { budgetHeld, mintRunKey, noteRunStarted } from '../agents/index.ts';
import { pricesColumn, pricesIn, scopesOfRun } from '../budgets/index.ts';
import { enqueueWaitingWork } from './end-run.ts';
import { type Pick, pickRun } from './pick-run.ts';
import { runRow } from './rows.ts';
import { endedChange, startedChange } from './run-changes.ts';
import { insertLastEvents, transcriptSignal } from './run-events.ts';
import { adapterOfRun, audienceOf, knownKinds, runKind, runKinds } from './run-kinds.ts';
import type { ClaimedRun, RunRow } from './types.ts';

// Picks are made on a snapshot that may be older than their lock; so many in a row that turn out to be of the past
// only happen where many claim at once.
const ATTEMPTS = 8;

interface Started extends RunRowWithAgent {
  api_key: string | null;
}

/** A run with what its holder has to know of its agent. */
interface RunRowWithAgent {
  run: RunRow;
  agent_name: string;
  permissions: Record<string, boolean>;
  budgeted: boolean;
  prices: Pricing;
}

/** Columns of `RunRowWithAgent` beside those of the run: `r` is the run, `a` its agent. */
export const holderColumns = sql`a.name as agent_name, a.permissions as agent_permissions,
  exists (select from budget_policies p where p.company_id = r.company_id and p.enabled) as budgeted,
  ${pricesColumn(sql`r.company_id`)}`;

/**
 * Makes the fairest queued run (`pickRun`) running and the caller's: fence and lease taken, and what its kind takes with
 * it. Undefined when none may start now, or when the kind refuses: that run is cancelled. For a transaction of its own,
 * which holds no locks before.
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
 * @param wait only for who holds no other company yet: two that wait for each other's would do so forever.
 */
async function holdCompany(tx: Tx, agent_id: string, wait: boolean): Promise<boolean> {
  const lock = sql.raw(wait ? 'pg_advisory_xact_lock' : 'pg_try_advisory_xact_lock');
  const { rows } = await tx.execute<{ held: unknown }>(sql`
    select ${lock}(hashtextextended('runs of ' || a.company_id, 0)) as held from agents a where a.id = ${agent_id}`);
  return wait || rows[0]?.held === true;
}

/**
 * The oldest queued run of the agent that no budget holds back. Under the agent's lock no other claim and no end of a
 * run of this agent can come in between: what is checked here holds. Its subject is locked ahead of it.
 */
async function startRun(
  tx: Tx,
  agent_id: string,
  options: { claimed_by: string; lease_sec: number; company_limit: number | null },
): Promise<RunRowWithAgent | undefined> {
  const subjects = lockedSubjects();
  const { rows } = await tx.execute(sql`
    with oldest as materialized (
      select r.id, r.kind, r.subject_id from heartbeat_runs r
      where r.agent_id = ${agent_id} and r.status = 'queued' and r.kind in (${knownKinds()})
        and not ${budgetHeld(scopesOfRun('r'))}
      order by r.created_at, r.id limit 1
    )${subjects.locks}
    update heartbeat_runs r set status = 'running', claimed_by = ${options.claimed_by}, fence = r.fence + 1,
      adapter_type = ${adapterOfRun()},
      started_at = clock_timestamp(), lease_expires_at = clock_timestamp() + make_interval(secs => ${options.lease_sec})
    from agents a, oldest${subjects.joins}
    where r.id = oldest.id and a.id = r.agent_id and r.status = 'queued'
      and a.deleted_at is null and a.status in ${wakeableAgentStatuses}
      and (select count(*) from heartbeat_runs x where x.agent_id = a.id and x.status = 'running') < a.max_concurrent_runs
      and (${options.company_limit}::int is null or (select count(*) from heartbeat_runs x
        where x.company_id = r.company_id and x.status = 'running') < ${options.company_limit}::int)
    returning r.*, ${holderColumns}`);
  return rows[0] && withAgent(rows[0]);
}

/** Before the statement runs nobody knows the kind of the oldest run: each table of subjects has its lock, one of which is taken. */
function lockedSubjects(): { locks: SQL; joins: SQL } {
  const tables = new Map<string, string[]>();
  for (const { name, subject } of runKinds())
    if (subject !== null) tables.set(subject.table, [...(tables.get(subject.table) ?? []), name]);
  const locks = [...tables].map(
    ([table, kinds]) => sql`, ${sql.identifier(`locked_${table}`)} as materialized (
      select s.id from ${sql.identifier(table)} s, oldest
      where s.id = oldest.subject_id and oldest.kind in (${sql.join(
        kinds.map((kind) => sql`${kind}`),
        sql`, `,
      )}) for no key update of s
    )`,
  );
  const joins = [...tables.keys()].map(
    (table) => sql` left join ${sql.identifier(`locked_${table}`)} on true`,
  );
  return { locks: sql.join(locks, sql``), joins: sql.join(joins, sql``) };
}

/** A row with `holderColumns`. */
export function withAgent(raw: Record<string, unknown>): RunRowWithAgent {
  return {
    run: runRow(raw),
    agent_name: String(raw.agent_name),
    permissions: raw.agent_permissions as Record<string, boolean>,
    budgeted: raw.budgeted === true,
    prices: pricesIn(raw),
  };
}

async function completeClaim(tx: Tx, started: RunRowWithAgent): Promise<ClaimedRun | undefined> {
  const { run } = started;
  const begun = (await runKind(run.kind).begin?.(tx, run)) ?? { changes: [] };
  if ('refused' in begun) {
    await cancelRefused(tx, run, begun.refused);
    return undefined;
  }
  const agentChanges = await noteRunStarted(tx, run.agent_id, run.id);
  const isProgram = adapterTraits(run.adapter_type).runs_as === 'program';
  const api_key = isProgram ? await mintRunKey(tx, run) : null;
  const claimed = claimedRun({ ...started, api_key });
  await recordChanges(tx, claimed.actor, [startedChange(run), ...begun.changes, ...agentChanges]);
  return claimed;
}

/**
 * The subject has changed since the admission. The job that brought us here is spent, so the next run gets one; and what
 * waited for the end of this one is dispatched, as after any other end.
 */
async function cancelRefused(
  tx: Tx,
  run: RunRow,
  refusal: { message: string; category: string },
): Promise<void> {
  const { rows } = await tx.execute(sql`
    with ended as (
      update heartbeat_runs set status = 'cancelled', error = ${refusal.message},
        finished_at = clock_timestamp(), lease_expires_at = null
      where id = ${run.id} returning *
    ), entry as (${insertLastEvents('ended', { first_seq: 1, events: [{ kind: 'error', payload: refusal }] }, null)})
    select * from ended`);
  signal(tx, 'transcripts', transcriptSignal(run, 1, 2));
  await enqueueWaitingWork(tx, run, run.id);
  await recordChanges(tx, systemActor('scheduler'), rows.map(runRow).map(endedChange));
}

export function claimedRun({ run, agent_name, permissions, budgeted, prices, api_key }: Started): ClaimedRun {
  return {
    run_id: run.id,
    company_id: run.company_id,
    fence: run.fence,
    audience: audienceOf(run),
    kind: run.kind,
    agent_id: run.agent_id,
    issue_id: run.issue_id,
    subject_id: run.subject_id,
    payload: run.payload,
    wake_reason: run.wake_reason,
    trigger_detail: run.trigger_detail,
    adapter_type: run.adapter_type,
    retry_of_run_id: run.retry_of_run_id,
    traceparent: run.traceparent,
    api_key,
    budgeted,
    prices,
    actor: {
      kind: 'agent',
      agent_id: run.agent_id,
      company_id: run.company_id,
      name: agent_name,
      key_id: null,
      permissions,
      run_id: run.id,
      depth: run.depth,
    },
  };
}
