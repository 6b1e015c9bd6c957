import { isSubprocessAdapter } from '@acp/contract';
import { together, type Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { type SQL, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { noteRunEnded, revokeRunKeys, type SessionChange } from '../agents/index.ts';
import { chargeCost, insertRunCost, type RunCost } from '../budgets/index.ts';
import { type IssueRow, releaseAfterRun, toIssueRow } from '../issues/index.ts';
import { keepTaskSession } from '../task-sessions/index.ts';
import { agentsWaiting } from '../wakeups/index.ts';
import { runRow } from './rows.ts';
import type { RunRow } from './types.ts';

export interface FinalState {
  status: 'succeeded' | 'failed' | 'cancelled';
  error: string | null;
  error_category: string | null;
  summary: string | null;
  usage: (RunCost & { usage_missing: boolean }) | null;
}

export interface Ended {
  run: RunRow;
  /** As it stood at the end, null without one or where it lies in the trash. */
  issue: IssueRow | null;
  /** A queued run of the same agent, or, where companies have a limit, of the company, which it may have held back. */
  next_run_id: string | null;
  /** The company has budgets: what the run cost and held is to be charged. */
  budgeted: boolean;
  project_id: string | null;
  /** Of the whole run, as decimal text. */
  cost_usd: string;
}

/**
 * The last write of a run's row, with its cost event, in one statement: agent, issue and run are locked in the order
 * of all (agent > issue > run), and nothing happens unless `condition` still holds for the locked row `r`.
 */
export async function endRow(
  tx: Tx,
  run: { id: string; agent_id: string; issue_id: string | null },
  state: FinalState,
  condition: SQL,
): Promise<Ended | undefined> {
  const { usage } = state;
  const { rows } = await tx.execute(sql`
    with agent as materialized (
      select a.id from agents a where a.id = ${run.agent_id} for no key update
    ), issue as materialized (
      select i.* from issues i, agent where i.id = ${run.issue_id}::uuid for no key update of i
    ), ended as (
      update heartbeat_runs r set status = ${state.status}, finished_at = clock_timestamp(), lease_expires_at = null,
        error = ${state.error}, error_category = ${state.error_category}, summary = coalesce(${state.summary}, r.summary),
        ${usage ? usageColumns(usage) : sql`fence = r.fence + 1`}
      from agent left join issue on true
      where r.id = ${run.id} and ${condition}
      returning r.*
    )${usage ? sql`, cost as (${insertRunCost('ended', usage)})` : sql``}
    select ended.*, to_jsonb(issue) as issue, issue.project_id,
      exists (select from budget_policies p where p.company_id = ended.company_id) as budgeted,
      coalesce((select q.id from heartbeat_runs q
        where q.agent_id = ended.agent_id and q.status = 'queued' and q.id <> ended.id
        order by q.created_at, q.id limit 1), (select q.id from heartbeat_runs q
        where q.company_id = ended.company_id and q.status = 'queued' and q.id <> ended.id
          and exists (select from instance_settings where key = 'company_max_concurrent_runs')
        order by q.created_at, q.id limit 1)) as next_run_id
    from ended left join issue on true`);
  const [raw] = rows;
  if (raw === undefined) return undefined;
  const issue = raw.issue === null ? null : toIssueRow(raw.issue as Record<string, unknown>);
  return {
    run: runRow(raw),
    issue: issue?.deleted_at === null ? issue : null,
    next_run_id: typeof raw.next_run_id === 'string' ? raw.next_run_id : null,
    budgeted: raw.budgeted === true,
    project_id: typeof raw.project_id === 'string' ? raw.project_id : null,
    cost_usd: usage?.cost_usd ?? '0',
  };
}

function usageColumns(usage: RunCost & { usage_missing: boolean }): SQL {
  return sql`fence = r.fence + 1, model = ${usage.model}, input_tokens = ${usage.input_tokens},
    output_tokens = ${usage.output_tokens}, cached_tokens = ${usage.cached_tokens},
    cost_usd = ${usage.cost_usd}::numeric, usage_missing = ${usage.usage_missing}`;
}

/**
 * What the end of a run that had started does to the others: checkout given back, agent idle, loop breaker counted,
 * those dispatched that waited for it, budgets charged. The agent's lock is held since `endRow`.
 * @param counted whether the issue changed; undefined leaves the loop breaker alone.
 * @param options `dispatched`: agents that this transaction has enqueued a dispatch for already.
 * @returns changes for the caller's `recordChanges`.
 */
export async function afterRun(
  tx: Tx,
  ended: Ended,
  counted: { changed: boolean } | undefined,
  options: { dispatched?: readonly string[]; session?: SessionChange | undefined } = {},
): Promise<Change[]> {
  const { run } = ended;
  const [issueChanges, agentChanges] = await together(
    releaseAfterRun(tx, run, counted),
    noteRunEnded(tx, run.agent_id, {
      run_id: run.id,
      ok: run.status !== 'failed',
      error: run.error,
      agent_locked: true,
      ...(options.session === undefined ? {} : { session: options.session }),
    }),
    keepTaskSession(tx, run, ended.issue),
  );
  // They open nothing from now on in any case; this is so that none is left lying about.
  if (mayHaveKey(run.adapter_type)) await revokeRunKeys(tx, run);
  await offerNext(tx, ended, options.dispatched);
  if (ended.budgeted) {
    // Policies are the last to be locked.
    const { company_id, agent_id } = run;
    await chargeCost(tx, { company_id, agent_id, project_id: ended.project_id }, ended.cost_usd, run.id);
  }
  return [...issueChanges, ...agentChanges];
}

function mayHaveKey(adapter_type: string): boolean {
  return adapter_type === 'remote' || isSubprocessAdapter(adapter_type);
}

/** Wakeups that this run held up are dispatched, a queued run that the agent's limit held back is offered again. */
export async function offerNext(
  tx: Tx,
  ended: Pick<Ended, 'run' | 'next_run_id'>,
  dispatched: readonly string[] = [],
): Promise<void> {
  const { run, next_run_id } = ended;
  const waiting = await agentsWaiting(tx, { agent_id: run.agent_id, issue_id: run.issue_id });
  await enqueueMany(
    tx,
    'dispatch-agent',
    waiting.filter((id) => !dispatched.includes(id)).map((agent_id) => ({ agent_id })),
  );
  if (next_run_id !== null) await enqueueMany(tx, 'execute-run', [{ run_id: next_run_id }]);
}
