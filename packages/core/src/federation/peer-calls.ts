/** Log of calls to a peer, for its administrators. */
import type { PeerCall, PeerDelegation } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { cutText } from '@acp/kernel';
import { and, asc, eq, inArray, isNull, lt, sql } from 'drizzle-orm';
import type { DelegationRow } from './claim-delegations.ts';
import type { PeerRow } from './peers.ts';

const { a2a_calls, a2a_delegations, issues } = schema;

const LONGEST_ERROR = 500;

interface FinishedPeerCall {
  method: string;
  /** Null: the call succeeded. */
  error: string | null;
  duration_ms: number;
  /** Whether it only polled the task: such calls are made every few seconds, and only logged if they fail. */
  polls: boolean;
}

/** For use in a separate transaction: a call stays logged even if its step is rolled back. */
export async function recordCall(
  tx: Tx,
  { peer_id, issue_id, remote_agent }: Pick<DelegationRow, 'peer_id' | 'issue_id' | 'remote_agent'>,
  { method, error: reason, duration_ms, polls }: FinishedPeerCall,
): Promise<void> {
  const error = reason === null ? null : cutText(reason, LONGEST_ERROR);
  await tx.execute(sql`
    with peer as (
      update a2a_peers set last_call_error = ${error}, errors = errors + ${error === null ? 0 : 1}
      where id = ${peer_id} returning id
    )
    insert into a2a_calls (peer_id, issue_id, remote_agent, method, error, duration_ms)
    select id, ${issue_id}::uuid, ${cutText(remote_agent, 200)}, ${method}, ${error}, ${Math.round(duration_ms)}
    from peer where ${!polls || error !== null}`);
}

/** Condition: issues in the trash are not named here. */
const present = isNull(issues.deleted_at);

export async function listPeerCalls(tx: Tx, { id }: PeerRow, query: PageRequest): Promise<Page<PeerCall>> {
  const page = newestFirst(a2a_calls.created_at, a2a_calls.id, query, 50);
  const rows = await tx
    .select({ call: a2a_calls, issue: { id: issues.id, identifier: issues.identifier } })
    .from(a2a_calls)
    .leftJoin(issues, and(eq(issues.id, a2a_calls.issue_id), present))
    .where(and(eq(a2a_calls.peer_id, id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(
    rows,
    ({ call }) => ({ at: call.created_at, id: call.id }),
    ({ call, issue }) => ({
      id: call.id,
      issue_id: issue?.id ?? null,
      identifier: issue?.identifier ?? null,
      remote_agent: call.remote_agent,
      method: call.method,
      ok: call.error === null,
      error: call.error,
      duration_ms: call.duration_ms,
      created_at: call.created_at,
    }),
  );
}

export async function listDelegations(
  tx: Tx,
  { id }: PeerRow,
  query: PageRequest,
): Promise<Page<PeerDelegation>> {
  const page = newestFirst(a2a_delegations.created_at, a2a_delegations.issue_id, query, 50);
  const rows = await tx
    .select({
      delegation: a2a_delegations,
      issue: { id: issues.id, identifier: issues.identifier, title: issues.title },
    })
    .from(a2a_delegations)
    .leftJoin(issues, and(eq(issues.id, a2a_delegations.issue_id), present))
    .where(and(eq(a2a_delegations.peer_id, id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.cut(
    rows,
    ({ delegation }) => ({ at: delegation.created_at, id: delegation.issue_id }),
    ({ delegation, issue }) => ({
      issue_id: issue?.id ?? null,
      identifier: issue?.identifier ?? null,
      title: issue?.title ?? null,
      remote_agent: delegation.remote_agent,
      state: delegation.state as PeerDelegation['state'],
      followed: delegation.next_attempt_at !== null,
      failures: delegation.failures,
      error: delegation.error,
      cost_usd: delegation.cost_usd === null ? null : Number(delegation.cost_usd),
      created_at: delegation.created_at,
      changed_at: delegation.changed_at,
    }),
  );
}

/** Deletes calls older than `days`. @returns number deleted, at most `limit` */
export async function deletePeerCallsBefore(tx: Tx, days: number, limit: number): Promise<number> {
  const old = tx
    .select({ id: a2a_calls.id })
    .from(a2a_calls)
    .where(lt(a2a_calls.created_at, sql`now() - make_interval(days => ${days})`))
    .orderBy(asc(a2a_calls.created_at))
    .limit(limit);
  const result = await tx.delete(a2a_calls).where(inArray(a2a_calls.id, old));
  return result.rowCount ?? 0;
}
