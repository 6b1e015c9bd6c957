/** Checkout by an agent's explicit request (specification, Issue checkout; decisions 7.13, 7.41). Runs: run-effects.ts. */
import type { Actor, Issue } from '@acp/contract';
import { liveRunStatuses, type Tx } from '@acp/db';
import { conflict, forbidden } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { agentsWaitingFor } from '../wakeups/index.ts';
import { freeCheckout } from './policy.ts';
import { issueUpdated, presentIssue } from './present.ts';
import { type IssueRow, selectIssues, toIssueRow, shownIssue } from './rows.ts';

const freed = sql`checked_out_by_agent_id = null, checked_out_at = null, checkout_run_id = null, self_checkout_agent_id = null`;

// Exactly the body that the specification requires: {"error":"conflict","message":"already checked out"}.
const alreadyCheckedOut = () => conflict('conflict', { message: 'already checked out' });

/**
 * Claims the issue in one conditional statement. The agent is locked, and before the issue: a deletion that is under way either
 * finds this checkout and releases it, or has the agent lose it here.
 * @throws conflict if anyone has it or the caller is being deleted, forbidden if the caller is no agent
 */
export async function checkoutIssue(tx: Tx, actor: Actor, subject: IssueRow): Promise<Issue> {
  if (actor.kind !== 'agent')
    throw subject.checked_out_by_agent_id === null
      ? forbidden('only an agent can check out an issue')
      : alreadyCheckedOut();
  const [issue] = await selectIssues(
    tx,
    // The current time, not the transaction's: the end of a run uses it to recognise checkouts older than the run.
    sql`with holder as materialized (
          select id from agents where id = ${actor.agent_id} and deleted_at is null and status <> 'terminated' for share
        )
        update issues i set checked_out_by_agent_id = holder.id, checked_out_at = clock_timestamp(), checkout_run_id = null,
          self_checkout_agent_id = holder.id
        from holder where i.id = ${subject.id} and i.checked_out_by_agent_id is null and i.deleted_at is null
        returning ${shownIssue}`,
  );
  if (!issue) throw alreadyCheckedOut();
  await recordChanges(tx, actor, [issueUpdated(issue, 'issue.checked_out')]);
  return presentIssue(issue);
}

/** Throws `forbidden` unless the caller is the agent that has checked out the issue. */
export async function releaseIssue(tx: Tx, actor: Actor, subject: IssueRow): Promise<Issue> {
  if (actor.kind !== 'agent') throw forbidden('only the holder can release an issue');
  const [issue] = await selectIssues(
    tx,
    sql`update issues i set ${freed}
        where i.id = ${subject.id} and i.checked_out_by_agent_id = ${actor.agent_id}
        returning ${shownIssue}`,
  );
  if (!issue) throw forbidden('only the holder can release an issue');
  await dispatchWaiting(tx, [issue.id]);
  await recordChanges(tx, actor, [issueUpdated(issue, 'issue.released')]);
  return presentIssue(issue);
}

/** Releases any agent's checkout (decisions 7.41). A run that is working on the issue continues without it. */
export async function forceReleaseIssue(tx: Tx, actor: Actor, subject: IssueRow): Promise<Issue> {
  // The activity needs the previous owner: `returning` only has the new row.
  const { rows } = await tx.execute(sql`
    with held as (
      select id, checked_out_by_agent_id as holder from issues
      where id = ${subject.id} and checked_out_by_agent_id is not null and deleted_at is null for no key update
    )
    update issues i set ${freed} from held where i.id = held.id returning ${shownIssue}, held.holder`);
  const [raw] = rows;
  if (!raw) return presentIssue({ ...subject, ...freeCheckout });
  const issue = toIssueRow(raw);
  await dispatchWaiting(tx, [issue.id]);
  await recordChanges(tx, actor, [
    issueUpdated(issue, 'issue.force_released', { held_by_agent_id: raw.holder }),
  ]);
  return presentIssue(issue);
}

/** Dispatches whatever a checkout was blocking: an issue can be released by other means than the end of a run. */
async function dispatchWaiting(tx: Tx, issue_ids: readonly string[]): Promise<void> {
  const waiting = await agentsWaitingFor(tx, issue_ids);
  await enqueueMany(
    tx,
    'dispatch-agent',
    waiting.map((agent_id) => ({ agent_id })),
  );
}

/**
 * Releases every checkout of an agent that is gone: those that it took by itself, and those of its live runs. Returns how many
 * there were.
 */
export async function releaseHeldBy(tx: Tx, actor: Actor, agentId: string): Promise<number> {
  const issues = await selectIssues(
    tx,
    // In order of id, like everything that locks several issues.
    sql`with held as materialized (
          select h.id from issues h where h.checked_out_by_agent_id = ${agentId} and h.id in (
            select x.id from issues x where x.self_checkout_agent_id = ${agentId}
            union select r.issue_id from heartbeat_runs r where r.agent_id = ${agentId} and r.status in ${liveRunStatuses})
          order by h.id for no key update of h
        )
        update issues i set ${freed} from held where i.id = held.id
        returning ${shownIssue}`,
  );
  await dispatchWaiting(
    tx,
    issues.map(({ id }) => id),
  );
  await recordChanges(
    tx,
    actor,
    issues
      .filter((issue) => issue.deleted_at === null)
      .map((issue) => issueUpdated(issue, 'issue.released', { held_by_agent_id: agentId })),
  );
  return issues.length;
}

interface StrandedCheckout extends Record<string, unknown> {
  company: string;
  issue: string;
  agent: string;
}

/**
 * Checkouts of agents that are gone, without a run: those that a process of a release before `self_checkout_agent_id` took while
 * the instance was upgraded, which `releaseHeldBy` does not know. Reads all issues that are checked out: for the operator only.
 */
export async function strandedCheckouts(tx: Tx, limit: number): Promise<StrandedCheckout[]> {
  const { rows } = await tx.execute<StrandedCheckout>(sql`
    select c.slug as company, i.identifier as issue, a.name as agent
    from issues i join agents a on a.id = i.checked_out_by_agent_id
    join companies c on c.id = i.company_id and c.deleted_at is null
    where i.deleted_at is null and (a.deleted_at is not null or a.status = 'terminated')
      and i.self_checkout_agent_id is distinct from a.id
      and not exists (select from heartbeat_runs r where r.issue_id = i.id and r.status in ${liveRunStatuses})
    order by c.slug, i.issue_number limit ${limit}`);
  return rows;
}
