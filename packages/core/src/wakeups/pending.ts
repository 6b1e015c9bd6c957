import { rowReader, type Tx, schema } from '@acp/db';
import { and, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import { inNoTrash } from '../trash/index.ts';
import type { WakeupRow } from './present.ts';
import { mergedPayload } from './request-wakeups.ts';

const { wakeup_requests } = schema;
const wakeupRow = rowReader(wakeup_requests);

const pending = eq(wakeup_requests.status, 'pending');
// Issues are a later slice: only their table is read.
const targetsNothingTrashed = sql`(${wakeup_requests.issue_id} is null or exists (
  select from issues i where i.id = ${wakeup_requests.issue_id} and ${inNoTrash('issues', 'i')}))`;

/**
 * Condition: pending ones, locked in the order in which `requestWakeups` takes them. In any other order, two that take several could
 * wait for each other.
 */
const pendingInOrder = (which: SQL | undefined): SQL => sql`wakeup_requests.id = any(array(
  select id from wakeup_requests where ${and(pending, which)} order by agent_id, issue_id for no key update))`;

/**
 * Binds wakeups to the queued runs admitted for them: they stay pending, and later requests for the same agent and issue coalesce
 * into them without another dispatch. Ones that belong to another run, or were consumed or cancelled in the meantime, are skipped.
 */
export async function bindWakeups(
  tx: Tx,
  bindings: readonly { wakeup_id: string; run_id: string }[],
): Promise<void> {
  const ids = bindings.map(({ wakeup_id }) => wakeup_id);
  // By their keys as well: PostgreSQL takes the list for a hundred, and would compare it with everything that is pending.
  await tx.execute(sql`
    update wakeup_requests set run_id = binding.run_id
    from jsonb_to_recordset(${JSON.stringify(bindings)}::jsonb) as binding(wakeup_id uuid, run_id uuid)
    where wakeup_requests.id = binding.wakeup_id
      and ${pendingInOrder(sql`id = any(${sql.param(ids)}::uuid[]) and run_id is null`)}`);
}

/**
 * The part of a statement that consumes wakeups bound to runs: when these are claimed, or cancelled before they begin. Requests
 * from then on are new ones.
 * @param run_ids a query with one column
 */
export function wakeupsConsumed(run_ids: SQL): SQL {
  return sql`update wakeup_requests set status = 'consumed', consumed_at = now()
    where ${pendingInOrder(sql`run_id = any (array(${run_ids}))`)}`;
}

/** The same as a statement of its own. @returns the consumed ones */
export async function consumeWakeups(tx: Tx, run_ids: readonly string[]): Promise<WakeupRow[]> {
  const { rows } = await tx.execute(
    sql`${wakeupsConsumed(sql`select unnest(${sql.param(run_ids)}::uuid[])`)} returning *`,
  );
  return rows.map(wakeupRow);
}

/**
 * The agent has fetched its inbox: everything pending is answered, bound to a queued run or not. Oldest first. Requests about a
 * trashed issue are left to `settle-issue`, since the agent would find nothing there.
 */
export async function consumeInbox(tx: Tx, agent_id: string): Promise<WakeupRow[]> {
  const rows = await tx
    .update(wakeup_requests)
    .set({ status: 'consumed', consumed_at: sql`now()` })
    .where(pendingInOrder(and(eq(wakeup_requests.agent_id, agent_id), targetsNothingTrashed)))
    .returning();
  return rows.toSorted((a, b) => a.created_at.getTime() - b.created_at.getTime());
}

/**
 * The run ended without answering its wakeups (lost before it did anything, or never claimed): bound ones are unbound, consumed
 * ones are requested again, coalescing with newer requests. No job is enqueued: the caller binds them to the retry or enqueues the
 * dispatch.
 * @returns ids of the wakeups that are now pending.
 */
export async function returnWakeups(tx: Tx, run_id: string): Promise<string[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    with unbound as (
      update wakeup_requests set run_id = null where ${pendingInOrder(sql`run_id = ${run_id}`)} returning id
    ), renewed as (
      insert into wakeup_requests as held (company_id, agent_id, issue_id, reason, payload, cause_run_id, depth)
      select company_id, agent_id, issue_id, reason, payload, cause_run_id, depth
      from wakeup_requests where run_id = ${run_id} and status = 'consumed'
      order by agent_id, issue_id
      on conflict (agent_id, coalesce(issue_id, '00000000-0000-0000-0000-000000000000'::uuid)) where status = 'pending'
      do update set payload = ${mergedPayload('excluded', 'held')}, depth = greatest(held.depth, excluded.depth)
      returning id
    )
    select id from unbound union select id from renewed`);
  return rows.map((row) => row.id);
}

/** Cancels pending ones, bound or not; at least one field is required. @returns how many. */
export async function cancelWakeups(
  tx: Tx,
  of: {
    company_id?: string;
    agent_id?: string;
    issue_id?: string;
    issue_ids?: readonly string[];
    run_id?: string;
  },
): Promise<number> {
  const conditions = [
    of.company_id === undefined ? undefined : eq(wakeup_requests.company_id, of.company_id),
    of.agent_id === undefined ? undefined : eq(wakeup_requests.agent_id, of.agent_id),
    of.issue_id === undefined ? undefined : eq(wakeup_requests.issue_id, of.issue_id),
    of.issue_ids === undefined ? undefined : inArray(wakeup_requests.issue_id, [...of.issue_ids]),
    of.run_id === undefined ? undefined : eq(wakeup_requests.run_id, of.run_id),
  ].filter((condition) => condition !== undefined);
  if (conditions.length === 0) throw new Error('cancelWakeups of everything');
  const result = await tx
    .update(wakeup_requests)
    .set({ status: 'cancelled' })
    .where(pendingInOrder(and(...conditions)));
  return result.rowCount ?? 0;
}

/** Agents to dispatch when checkouts are released: those with something pending on one of the issues. */
export async function agentsWaitingFor(tx: Tx, issue_ids: readonly string[]): Promise<string[]> {
  if (issue_ids.length === 0) return [];
  const rows = await tx
    .selectDistinct({ agent_id: wakeup_requests.agent_id })
    .from(wakeup_requests)
    .where(and(pending, isNull(wakeup_requests.run_id), inArray(wakeup_requests.issue_id, [...issue_ids])));
  return rows.map((row) => row.agent_id);
}

/**
 * SQL: the agents to dispatch when a run ends, namely those with something pending that was blocked by the agent's or the issue's run.
 * Read it under the agent's lock: what comes later finds the run ended.
 */
export const waitingAfter = ({
  agent_id,
  issue_id,
}: Readonly<Record<'agent_id' | 'issue_id', unknown>>): SQL => sql`
  select agent_id from wakeup_requests where status = 'pending' and run_id is null and agent_id = ${agent_id}::uuid
  union
  select agent_id from wakeup_requests where status = 'pending' and run_id is null and issue_id = ${issue_id}::uuid`;
