import { adapterTraits, type Pricing } from '@acp/contract';
import { fixedForms, hasStatus, together, type Tx, signal, wakeableAgentStatuses } from '@acp/db';
import { enqueue } from '@acp/queue';
import { type SQL, sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import {
  type AgentBefore,
  agentBefore,
  agentStartedChange,
  markAgentsRunning,
  budgetHeld,
  mintRunKey,
  noteRunRefused,
} from '../agents/index.ts';
import { pricesColumn, pricesIn, scopesOfRun } from '../budgets/index.ts';
import { enqueueWaitingWork } from './end-run.ts';
import { type Picked, pickedAgents, pickRuns } from './pick-run.ts';
import { queuedOfAgent, runRow } from './rows.ts';
import { endedChange, startedChange } from './run-changes.ts';
import { insertLastEvents, transcriptSignal } from './run-events.ts';
import {
  adapterOfRun,
  audienceOf,
  type Begun,
  kindNames,
  knownKinds,
  type RunKind,
  runKinds,
} from './run-kinds.ts';
import { publishStartedRuns } from './started-runs.ts';
import type { ClaimedRun, RunRow } from './types.ts';

// Picks use a snapshot that may be older than their lock; this many stale picks in a row only occur under heavy concurrency.
const ATTEMPTS = 8;

interface ClaimOptions {
  claimed_by: string;
  lease_sec: number;
}

interface Started extends RunRowWithAgent {
  api_key: string | null;
}

/** A run with what its owner must know about its agent. */
interface RunRowWithAgent {
  run: RunRow;
  agent_name: string;
  permissions: Record<string, boolean>;
  budgeted: boolean;
  prices: Pricing;
}

interface StartedRun extends RunRowWithAgent {
  agent_before: AgentBefore;
  /** The agent's row if the start changed its status. */
  begun_agent: Record<string, unknown> | null;
}

/** Columns of `RunRowWithAgent` in addition to those of the run: `r` is the run, `a` its agent. */
export const holderColumns = sql`a.name as agent_name, a.permissions as agent_permissions,
  exists (select from budget_policies p where p.company_id = r.company_id and p.enabled) as budgeted,
  ${pricesColumn(sql`r.company_id`)}`;

/** Claims one run; undefined if there is none, or if its kind refused it. */
export async function claimRun(tx: Tx, options: ClaimOptions): Promise<ClaimedRun | undefined> {
  const [run] = await claimRuns(tx, options, 1);
  return run;
}

/**
 * Starts the fairest queued runs (`pickRuns`) for the caller, at most `most` and one per agent, with fence and lease, and
 * with whatever their kinds claim along with them. Needs a transaction of its own that has acquired no locks yet.
 * @returns an empty list if none may start now; undefined in place of a run that its kind refused, which is cancelled
 */
export async function claimRuns(
  tx: Tx,
  options: ClaimOptions,
  most: number,
): Promise<(ClaimedRun | undefined)[]> {
  let wait = false;
  let waiting: string | null = null;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const [picked, start] = await pickAndStart(tx, options, { wait, most: wait ? 1 : most });
    if (start.started.length > 0) return completeClaims(tx, start);
    waiting = picked.waiting_run_id;
    if (waiting === null) return [];
    const { agent_ids, company_limit } = picked;
    const [first] = agent_ids;
    if (first !== undefined) {
      if (company_limit !== null && (await holdCompany(tx, first, attempt === 1))) {
        const alone = await startAndBegin(tx, agent_ids, { ...options, company_limit });
        if (alone.started.length > 0) return completeClaims(tx, alone);
      }
      wait = false;
    } else if (attempt === 1) {
      // All candidates' agents are busy with others' claims. Waiting for one is safe only while no lock is held.
      wait = true;
    } else {
      break;
    }
  }
  // The job that led here is used up, and the run is still waiting.
  if (waiting !== null) await enqueue(tx, 'execute-run', { run_id: waiting });
  return [];
}

/** In one round trip, unless the front of the queue is crowded. Starts nothing where there is a limit per company. */
async function pickAndStart(
  tx: Tx,
  options: ClaimOptions,
  wanted: { wait: boolean; most: number },
): Promise<[Picked, Start]> {
  const among = async (place: 'front' | 'companies') =>
    together(
      pickRuns(tx, { among: place, ...wanted }),
      startAndBegin(tx, null, { ...options, company_limit: null }),
    );
  const [picked, start] = await among('front');
  return picked.crowded ? among('companies') : [picked, start];
}

/**
 * With a limit per company, serialises the claims of a company: its agents have separate locks, and a count made under one
 * of them may change under another.
 * @param wait only for a caller that has locked no other company yet: two waiting for each other's would deadlock
 */
async function holdCompany(tx: Tx, agent_id: string, wait: boolean): Promise<boolean> {
  const lock = sql.raw(wait ? 'pg_advisory_xact_lock' : 'pg_try_advisory_xact_lock');
  const { rows } = await tx.execute<{ held: unknown }>(sql`
    select ${lock}(hashtextextended('runs of ' || a.company_id, 0)) as held from agents a where a.id = ${agent_id}`);
  return wait || rows[0]?.held === true;
}

interface Start {
  started: StartedRun[];
  /** The kinds' answers, by run. */
  begun: Map<string, Begun>;
}

/** The start and what the kinds do at it, in one round trip for kinds that don't need to know the runs (`startedRuns`). */
async function startAndBegin(
  tx: Tx,
  agent_ids: readonly string[] | null,
  options: ClaimOptions & { company_limit: number | null },
): Promise<Start> {
  const starting = startRuns(tx, agent_ids, options);
  const [started, ...begun] = await together(
    starting,
    ...runKinds().map(async (kind) => beginRuns(tx, kind, starting)),
  );
  return { started, begun: new Map(begun.flat()) };
}

async function beginRuns(
  tx: Tx,
  { name, begin }: RunKind,
  starting: Promise<StartedRun[]>,
): Promise<(readonly [string, Begun])[]> {
  const ofKind = starting.then((started) =>
    started.map(({ run }) => run).filter(({ kind }) => kind === name),
  );
  const [runs, answers] = await together(ofKind, begin?.(tx, ofKind));
  return runs.map(({ id }, place) => [id, answers?.[place] ?? { changes: [] }]);
}

/**
 * Starts the oldest queued run, not blocked by a budget, of each agent. The agents' locks keep out other claims and the ends
 * of their runs, so the checks made here hold. The runs' subjects are locked first. Their agents are `running` from then on.
 * @param agent_ids null: those just picked, whoever they are
 */
async function startRuns(
  tx: Tx,
  agent_ids: readonly string[] | null,
  { claimed_by, lease_sec, company_limit }: ClaimOptions & { company_limit: number | null },
): Promise<StartedRun[]> {
  const form = `${agent_ids === null ? 'picked' : 'named'} ${company_limit === null ? 'no limit' : 'limit'} ${kindNames()}`;
  const values = { agent_ids, claimed_by, lease_sec, company_limit };
  const rows = await starts(tx, form, values, startStatement(agent_ids === null, company_limit !== null));
  const started = rows.filter(({ id }) => id !== null);
  return started.map((raw) => ({
    ...withAgent(raw),
    agent_before: raw.agent_before as AgentBefore,
    begun_agent: raw.begun_agent as Record<string, unknown> | null,
  }));
}

const starts = fixedForms(['agent_ids', 'claimed_by', 'lease_sec', 'company_limit']);

function startStatement(picked: boolean, limited: boolean): Parameters<typeof starts>[3] {
  return ({ agent_ids, claimed_by, lease_sec, company_limit }) => {
    const subjects = lockedSubjects();
    const withinLimit = limited
      ? sql`and (select count(*) from heartbeat_runs x
          where x.company_id = r.company_id and x.status = 'running') < ${company_limit}::int`
      : sql``;
    return sql`
    with oldest as materialized (
      select q.* from unnest(${picked ? pickedAgents : sql`${agent_ids}::uuid[]`}) as picked(agent_id) cross join lateral (
        select r.id, r.kind, r.subject_id from heartbeat_runs r
        where r.agent_id = picked.agent_id and ${queuedOfAgent('r')} and r.kind in (${knownKinds()})
          and not ${budgetHeld(scopesOfRun('r'))}
        order by r.created_at, r.id limit 1) q
    )${subjects.locks}, started as (
    update heartbeat_runs r set status = 'running', claimed_by = ${claimed_by}, fence = r.fence + 1,
      adapter_type = ${adapterOfRun()},
      started_at = clock_timestamp(), lease_expires_at = clock_timestamp() + make_interval(secs => ${lease_sec})
    from agents a, oldest
    where r.id = oldest.id and a.id = r.agent_id and ${hasStatus('queued')} and ${subjects.locked}
      and a.deleted_at is null and a.status in ${wakeableAgentStatuses}
      and (select count(*) from heartbeat_runs x
        where x.company_id = a.company_id and x.agent_id = a.id and x.status = 'running') < a.max_concurrent_runs
      ${withinLimit}
    returning r.*, ${holderColumns}, ${agentBefore} as agent_before
    ), ${markAgentsRunning('started')}, published as materialized (${publishStartedRuns('started')})
    select started.*, to_jsonb(begun_agent) as begun_agent
    from published left join started on true left join begun_agent on begun_agent.id = started.agent_id`;
  };
}

/**
 * The kinds of the oldest runs are unknown until the statement runs, so there is a lock for each subject table, in id order
 * because others lock several, too. Counting the locked rows makes sure that they are locked before the first run is.
 */
function lockedSubjects(): { locks: SQL; locked: SQL } {
  const tables = new Map<string, string[]>();
  for (const { name, subject } of runKinds())
    if (subject !== null) tables.set(subject.table, [...(tables.get(subject.table) ?? []), name]);
  const locks = [...tables].map(
    ([table, kinds]) => sql`, ${sql.identifier(`locked_${table}`)} as materialized (
      select s.id from ${sql.identifier(table)} s where s.id in (
        select oldest.subject_id from oldest where oldest.kind in (${sql.join(
          kinds.map((kind) => sql`${kind}`),
          sql`, `,
        )})) order by s.id for no key update of s
    )`,
  );
  const locked = [...tables.keys()].map(
    (table) => sql`(select count(*) from ${sql.identifier(`locked_${table}`)}) >= 0`,
  );
  return { locks: sql.join(locks, sql``), locked: sql.join([sql`true`, ...locked], sql` and `) };
}

/** Reads a row with `holderColumns`. */
export function withAgent(raw: Record<string, unknown>): RunRowWithAgent {
  return {
    run: runRow(raw),
    agent_name: String(raw.agent_name),
    permissions: raw.agent_permissions as Record<string, boolean>,
    budgeted: raw.budgeted === true,
    prices: pricesIn(raw),
  };
}

async function completeClaims(tx: Tx, { started, begun }: Start): Promise<(ClaimedRun | undefined)[]> {
  const under: { of: StartedRun; changes: Change[] }[] = [];
  for (const of of started) {
    const answer = begun.get(of.run.id)!;
    if ('refused' in answer) await cancelRefused(tx, of, answer.refused);
    else under.push({ of, changes: answer.changes });
  }
  if (under.length === 0) return started.map(() => undefined);
  const keys = await together(...under.map(async ({ of: { run } }) => keyOf(tx, run)));
  const claimed = new Map<string, ClaimedRun>();
  for (const [place, { of, changes }] of under.entries()) {
    const { run } = of;
    const each = claimedRun({ ...of, api_key: keys[place] ?? null });
    claimed.set(run.id, each);
    const ofAgent = of.begun_agent === null ? [] : [agentStartedChange(of.begun_agent)];
    await recordChanges(tx, each.actor, [startedChange(run), ...changes, ...ofAgent]);
  }
  return started.map(({ run }) => claimed.get(run.id));
}

async function keyOf(tx: Tx, run: RunRow): Promise<string | null> {
  return adapterTraits(run.adapter_type).runs_as === 'program' ? mintRunKey(tx, run) : null;
}

/**
 * Cancels a run whose subject has changed since the admission. The job that led here is used up, so the next run gets a new
 * one, and whatever was waiting for this run to end is dispatched, as after any other end.
 */
async function cancelRefused(
  tx: Tx,
  { run, agent_before }: StartedRun,
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
  await noteRunRefused(tx, run.agent_id, agent_before);
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
