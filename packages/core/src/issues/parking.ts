/** Issues that wait for their agent's sub-agents. A later slice records which ones they wait for. */
import type { Actor } from '@acp/contract';
import { schema, together, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { eq, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { isTerminal, statusColumns, unblocked } from './policy.ts';
import { issueUpdated } from './present.ts';
import { changedNow, issueFields, type IssueRow } from './rows.ts';
import { lockIssue } from './unblock.ts';

const { issues } = schema;

/** Blocks the issue without notifying people: no one needs to act. */
export async function parkIssue(tx: Tx, actor: Actor, subject: IssueRow, reason: string): Promise<void> {
  const { issue: before } = await lockIssue(tx, subject.id, false);
  if (before === undefined) throw notFound();
  const [after] = await tx
    .update(issues)
    .set({
      ...statusColumns('blocked', actor),
      status: 'blocked',
      blocked_reason: reason,
      updated_at: changedNow,
    })
    .where(eq(issues.id, before.id))
    .returning(issueFields);
  const changes = { status: { from: before.status, to: 'blocked' } };
  await recordChanges(tx, actor, [issueUpdated(after!, 'issue.parked', { changes })]);
}

/**
 * Unparks an issue once what it waited for is there: if it is still blocked, and not on a human's answer, it returns to `todo`.
 * @returns changes for the caller's `recordChanges`; undefined for an issue that is closed or in the trash
 */
export async function unparkIssue(tx: Tx, issue_id: string): Promise<Change[] | undefined> {
  const { issue } = await lockIssue(tx, issue_id, false);
  if (issue === undefined || isTerminal(issue.status)) return undefined;
  if (issue.status !== 'blocked' || issue.awaiting_input) return [];
  const [after] = await tx
    .update(issues)
    .set({ ...unblocked, status: 'todo', updated_at: changedNow })
    .where(eq(issues.id, issue_id))
    .returning(issueFields);
  return [issueUpdated(after!, 'issue.unblocked', { changes: { status: { from: 'blocked', to: 'todo' } } })];
}

/**
 * Enqueues the jobs with which later slices react to something that happened to the issues: it may end sub-agents, the wait
 * for them, or a council.
 */
export async function enqueueSettling(tx: Tx, issue_ids: readonly (string | null)[]): Promise<void> {
  const ids = sql`(select value::uuid from jsonb_array_elements_text(${JSON.stringify(
    issue_ids.filter((id) => id !== null),
  )}::jsonb))`;
  const agents = tx.execute<{ agent_id: string }>(sql`
    select root_agent_id as agent_id from subagents
    where (issue_id in ${ids} or parent_issue_id in ${ids}) and ended_at is null
    union
    select root_agent_id from subagent_waits where issue_id in ${ids}`);
  const councils = tx.execute<{ session_id: string }>(
    sql`select id as session_id from council_sessions where issue_id in ${ids} and status = 'running'`,
  );
  const [of_agents, of_councils] = await together(agents, councils);
  await enqueueMany(tx, 'settle-subagents', of_agents.rows);
  await enqueueMany(tx, 'advance-council', of_councils.rows);
}
