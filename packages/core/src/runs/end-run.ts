import { type Actor, adapterTraits } from '@acp/contract';
import { fixedForms, together, signal, type Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { cutText, storableText } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { noteRunEnded, revokeRunKeys } from '../agents/index.ts';
import { chargeCost, insertRunCost, projectOfRun } from '../budgets/index.ts';
import { pauseProvider } from '../providers/index.ts';
import { retryRun } from './retry-run.ts';
import { queuedOfAgent, runRow } from './rows.ts';
import { endedChange } from './run-changes.ts';
import { insertLastEvents, transcriptSignal } from './run-events.ts';
import { kindNames, runKind, type RunKind, runKinds } from './run-kinds.ts';
import type { RunResult, RunRow, RunUsage } from './types.ts';

/** The category of a result that ends a cancelled run. */
export const CANCELLED = 'cancelled';

// In bytes.
const SUMMARY = 2000;
const ERROR = 4000;

interface WrittenEnd {
  run: RunRow;
  subject: Record<string, unknown> | null;
  /** A queued run of the same agent or, with a limit per company, of the company, that this run may have been blocking. */
  next_run_id: string | null;
  /** The company has budgets: the run's cost and reservations must be settled. */
  budgeted: boolean;
  project_id: string | null;
}

interface Ending {
  result: RunResult;
  actor: Actor;
  /** Called with the next run, in place of a job for it: the caller claims as soon as the transaction is committed. */
  takeNext?: ((run_id: string) => void) | undefined;
}

/**
 * THE end of a run that had begun, of whatever kind and for whatever reason: row, cost event and the end of the transcript in
 * one statement, then the kind's part, agent, keys, waiting work, budgets, activity and event. Runs in one transaction.
 * A cancelled run ends `cancelled` whatever its result says: whoever was shown the cancellation can rely on it.
 * @param condition must still be true of the locked run `r`
 * @returns the row; undefined if the condition is no longer true: nothing was written, the caller rolls back
 */
export async function endRun(
  tx: Tx,
  of: Pick<RunRow, 'id' | 'agent_id' | 'subject_id' | 'kind'>,
  { result, actor, takeNext }: Ending,
  condition: SQL,
): Promise<RunRow | undefined> {
  const kind = runKind(of.kind);
  const written = await writeEnd(tx, of, result, condition);
  if (written === undefined) return undefined;
  const { run, subject } = written;
  const { retried, applied } = await retryRun(tx, { run, subject });
  const { failure, session, provider_id } = result;
  const text = result.summary_only === true ? null : result.text;
  const known = { ...result, text, changed: result.changed || applied };
  // A failure may return wakeups, which wait from then on.
  const isEarly = failure === null;
  const [ofKind, ofAgent] = await together(
    kind.end(tx, { run, subject, result: known, actor, retried }),
    noteRunEnded(tx, run.agent_id, {
      run_id: run.id,
      ok: run.status !== 'failed',
      error: run.error,
      agent_locked: true,
      ...(isEarly ? { waiting: { issue_id: run.issue_id, form: kindNames(), ids: idsOfWaiting } } : {}),
      ...(session === undefined || kind.keepsSession?.(run) === true ? {} : { session }),
    }),
  );
  // The keys grant nothing from now on anyway; this only cleans them up.
  if (mayHaveKey(run.adapter_type)) await revokeRunKeys(tx, [run]);
  const { next_run_id } = written;
  if (takeNext !== undefined && next_run_id !== null) takeNext(next_run_id);
  const toDispatch = (isEarly ? ofAgent.waiting : await agentsWaiting(tx, run)).filter(
    (agent_id) => ofKind.dispatched?.includes(agent_id) !== true,
  );
  await enqueueWaiting(tx, toDispatch, takeNext === undefined ? next_run_id : null);
  // Runs of other agents would only get the same answer from the provider.
  if (failure?.category === 'quota' && provider_id)
    await pauseProvider(tx, provider_id, { reset_at: failure.reset_at, reason: failure.message });
  if (written.budgeted) {
    // Policies are locked last.
    const { company_id, agent_id } = run;
    const { project_id } = written;
    await chargeCost(tx, { company_id, agent_id, project_id }, result.usage?.cost_usd ?? '0', run.id);
  }
  await recordChanges(tx, actor, [...ofKind.changes, ...ofAgent.changes, endedChange(run)]);
  return run;
}

/** Failures in the words of a model's server or of a program, which may quote what they were given. */
const quoting: readonly unknown[] = ['auth', 'quota', 'transient', 'permanent'];

/** The error of a private run: its own words are in the transcript and the chat, for the person that it is private to. */
const toldToAll = (message: string, category: unknown): string =>
  quoting.includes(category) ? `the model or program failed (${String(category)})` : message;

/** Locks agent, subject and run in the global order; does nothing unless `condition` is true of the locked row. */
async function writeEnd(
  tx: Tx,
  of: Pick<RunRow, 'id' | 'agent_id' | 'subject_id' | 'kind'>,
  { failure, text, usage, transcript, provider_id }: RunResult,
  condition: SQL,
): Promise<WrittenEnd | undefined> {
  const cancelled = sql`(r.cancel_requested_at is not null or ${failure?.category === CANCELLED}::boolean)`;
  const message = short(failure?.message ?? null, ERROR);
  const fault = message === null ? null : { message, category: failure?.category };
  // Someone who cancels a run need not read its other results.
  const unlessCancelled = (value: string | null) =>
    sql`case when r.cancel_requested_at is null then ${value}::text end`;
  const { rows } = await tx.execute(sql`
    with ${lockedAround(of)}, ended as (
      update heartbeat_runs r set finished_at = clock_timestamp(), lease_expires_at = null, fence = r.fence + 1, provider_id = ${provider_id ?? null},
        status = case when ${cancelled} then 'cancelled' else ${failure === null ? 'succeeded' : 'failed'} end,
        error = case when r.private_to_user_id is null then ${unlessCancelled(message)}
          else ${unlessCancelled(message === null ? null : toldToAll(message, failure?.category))} end, error_category = ${unlessCancelled(failure?.category ?? null)},
        summary = coalesce(${short(text, SUMMARY)}, r.summary)${usage === null ? sql`` : usageColumns(usage)}
      from agent left join subject on true
      where r.id = ${of.id} and ${condition}
      returning r.*
    ), entry as (${insertLastEvents('ended', transcript, fault)})
    ${usage === null ? sql`` : sql`, cost as (${insertRunCost('ended', usage)})`}
    select ended.*, (select found from subject) as subject, ${projectOfRun('ended')} as project_id,
      (select min(seq) from entry) as "from", (select max(seq) from entry) as "to",
      exists (select from budget_policies p where p.company_id = ended.company_id) as budgeted,
      coalesce((select q.id from heartbeat_runs q
        where q.agent_id = ended.agent_id and ${queuedOfAgent('q')} and q.id <> ended.id
        order by q.created_at, q.id limit 1), (select q.id from heartbeat_runs q
        where q.company_id = ended.company_id and q.status = 'queued' and q.id <> ended.id
          and exists (select from instance_settings where key = 'company_max_concurrent_runs')
        order by q.created_at, q.id limit 1)) as next_run_id
    from ended`);
  const [raw] = rows;
  if (raw === undefined) return undefined;
  const run = runRow(raw);
  signal(tx, 'transcripts', transcriptSignal(run, Number(raw.from), Number(raw.to)));
  return {
    run,
    subject: raw.subject as Record<string, unknown> | null,
    next_run_id: typeof raw.next_run_id === 'string' ? raw.next_run_id : null,
    budgeted: raw.budgeted === true,
    project_id: typeof raw.project_id === 'string' ? raw.project_id : null,
  };
}

/** Relations `agent` and `subject` (`id`, `found`) of a statement that then locks the run: the global lock order. */
export function lockedAround({
  agent_id,
  subject_id,
  kind,
}: Pick<RunRow, 'agent_id' | 'subject_id' | 'kind'>): SQL {
  const { subject } = runKind(kind);
  return sql`agent as materialized (
      select a.id from agents a where a.id = ${agent_id} for no key update
    ), subject as materialized (${
      subject === null || subject_id === null
        ? sql`select null::uuid as id, null::jsonb as found where false`
        : sql`select s.id, to_jsonb(s) as found from ${sql.identifier(subject.table)} s, agent
          where s.id = ${subject_id}::uuid for no key update of s`
    })`;
}

function usageColumns(usage: RunUsage): SQL {
  return sql`, model = ${usage.model}, input_tokens = ${usage.input_tokens},
    output_tokens = ${usage.output_tokens}, cached_tokens = ${usage.cached_tokens},
    cost_usd = ${usage.cost_usd}::numeric, usage_missing = ${usage.usage_missing}`;
}

function mayHaveKey(adapter_type: string): boolean {
  const { runs_as } = adapterTraits(adapter_type);
  return runs_as === 'program' || runs_as === 'worker';
}

/** Dispatches work that this run was blocking and enqueues a queued run that a limit held back. */
export async function enqueueWaitingWork(tx: Tx, run: RunRow, next_run_id: string | null): Promise<void> {
  await enqueueWaiting(tx, await agentsWaiting(tx, run), next_run_id);
}

async function agentsWaiting(tx: Tx, { agent_id, issue_id }: RunRow): Promise<string[]> {
  const make = (run: Waited): SQL => sql`select ${idsOfWaiting(run)} as ids`;
  const [row] = await waiting(tx, kindNames(), { agent_id, issue_id }, make);
  return row?.ids as string[];
}

const waiting = fixedForms(['agent_id', 'issue_id']);
type Waited = Parameters<NonNullable<RunKind['waitingFor']>>[0];

/** SQL: an array of the agents with work that was waiting for the run. */
function idsOfWaiting(run: Waited): SQL {
  const selects = runKinds().flatMap(({ waitingFor }) => waitingFor?.(run) ?? []);
  return selects.length === 0 ? sql`'{}'::uuid[]` : sql`array(${sql.join(selects, sql` union `)})`;
}

async function enqueueWaiting(
  tx: Tx,
  agent_ids: readonly string[],
  next_run_id: string | null,
): Promise<void> {
  const dispatches = agent_ids.map((agent_id) => ({ agent_id }));
  await enqueueMany(tx, 'dispatch-agent', dispatches);
  if (next_run_id !== null) await enqueueMany(tx, 'execute-run', [{ run_id: next_run_id }]);
}

function short(text: string | null, bytes: number): string | null {
  return text === null ? null : cutText(storableText(text), bytes);
}
