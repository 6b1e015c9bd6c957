import type { Actor } from '@acp/contract';
import { actionableIssueStatuses, schema, type Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { eq, inArray, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { cancelWakeups, requestWakeups, type WakeupRequest } from '../wakeups/index.ts';
import { issueUpdated } from './present.ts';
import { issueFields } from './rows.ts';

const { issues } = schema;

/**
 * Restores an issue from the trash with its descendants; it is checked out by no one. Wakes the assignees of those with work to do:
 * their runs and wakeups ended when the issue went.
 * @throws conflict if it is not in the trash
 */
export async function restoreIssue(tx: Tx, actor: Actor, issue_id: string): Promise<void> {
  const [issue] = await tx
    .update(issues)
    .set({ deleted_at: null, updated_at: sql`now()` })
    .where(eq(issues.id, issue_id))
    .returning(issueFields);
  if (!issue) throw conflict('the issue is gone');
  await requestWakeups(tx, actor, await wakeupsOf(tx, issue_id));
  await recordChanges(tx, actor, [issueUpdated(issue, 'issue.restored')]);
}

async function wakeupsOf(tx: Tx, issue_id: string): Promise<WakeupRequest[]> {
  const { rows } = await tx.execute<
    Pick<WakeupRequest, 'company_id' | 'agent_id'> & { issue_id: string }
  >(sql`
    with recursive back as (
      select i.id, i.company_id, i.assignee_agent_id, i.status from issues i where i.id = ${issue_id}
      union
      select child.id, child.company_id, child.assignee_agent_id, child.status
      from back join issues child on child.parent_issue_id = back.id and child.deleted_at is null
    )
    select company_id, assignee_agent_id as agent_id, id as issue_id from back
    where assignee_agent_id is not null and status in ${actionableIssueStatuses}`);
  return rows.map((row) => ({ ...row, reason: 'assignment' }));
}

/** Deletes the issue and its descendants permanently: without a parent, children would reappear. @returns the deleted ids */
export async function purgeIssue(tx: Tx, issue_id: string): Promise<string[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    with recursive below as (
      select ${issue_id}::uuid as id
      union
      select child.id from below join issues child on child.parent_issue_id = below.id
    )
    delete from issues where id in (select id from below) returning id`);
  const issue_ids = rows.map(({ id }) => id);
  // The job that follows the deletion may find no descendants any more.
  await cancelWakeups(tx, { issue_ids });
  return issue_ids;
}

/** Clears references to what has been deleted permanently. */
export async function clearIssueReference(
  tx: Tx,
  column: 'assignee_agent_id' | 'project_id' | 'goal_id',
  ids: readonly string[],
): Promise<void> {
  await tx
    .update(issues)
    .set({ [column]: null })
    .where(inArray(issues[column], [...ids]));
}
