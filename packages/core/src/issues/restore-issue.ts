import type { Actor } from '@acp/contract';
import { actionableIssueStatuses, inOrder, schema, type Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { eq, inArray, type SQL, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { purgeOldTrash } from '../trash/index.ts';
import { cancelWakeups, requestWakeups, type WakeupRequest } from '../wakeups/index.ts';
import { issueAndDescendants } from './delete-issue.ts';
import { issueUpdated } from './present.ts';
import { changedNow, issueFields, notTrashed } from './rows.ts';
import type { Later } from './update-issue.ts';

const { issues } = schema;

/**
 * Restores an issue from the trash with its descendants; it is checked out by no one. Wakes the assignees of those with work to do:
 * their runs and wakeups ended when the issue went.
 * @param later takes whom it wakes @throws conflict if it is not in the trash
 */
export async function restoreIssue(
  tx: Tx,
  actor: Actor,
  issue_id: string,
  later?: Pick<Later, 'wakeups'>,
): Promise<void> {
  const [issue] = await tx
    .update(issues)
    .set({ deleted_at: null, updated_at: changedNow })
    .where(eq(issues.id, issue_id))
    .returning(issueFields);
  if (!issue) throw conflict('the issue is gone');
  const wakeups = await assigneesWith(tx, withDescendants(issue_id));
  if (later) later.wakeups.push(...wakeups);
  else await requestWakeups(tx, actor, wakeups);
  await recordChanges(tx, actor, [issueUpdated(issue, 'issue.restored')]);
}

/** Condition on `i`. */
const withDescendants = (issue_id: string): SQL => sql`i.id in (
  with recursive back as (
    select ${issue_id}::uuid as id
    union
    select child.id from back join issues child on child.parent_issue_id = back.id and child.deleted_at is null
  ) select id from back)`;

/**
 * Wakes the assignees of issues with work to do, after what had ended their runs and wakeups was undone.
 * @param which condition on the issue `i`
 */
export async function wakeAssignees(tx: Tx, actor: Actor, which: SQL): Promise<void> {
  await requestWakeups(tx, actor, await assigneesWith(tx, which));
}

async function assigneesWith(tx: Tx, which: SQL): Promise<WakeupRequest[]> {
  const { rows } = await tx.execute<
    Pick<WakeupRequest, 'company_id' | 'agent_id'> & { issue_id: string }
  >(sql`
    select i.company_id, i.assignee_agent_id as agent_id, i.id as issue_id from issues i
    where ${which} and i.assignee_agent_id is not null and i.status in ${actionableIssueStatuses} and ${notTrashed('i')}`);
  return rows.map((row) => ({ ...row, reason: 'assignment' }));
}

/** Deletes the issue and its descendants permanently: without a parent, children would reappear. @returns the deleted ids */
export async function purgeIssue(tx: Tx, issue_id: string): Promise<string[]> {
  const going = await issueAndDescendants(tx, issue_id);
  // Entries are locked before what they are of: one of those below may be on its way back.
  await purgeOldTrash(
    tx,
    going.map(({ id }) => id),
  );
  const { rows } = await tx.execute<{ id: string }>(sql`
    with recursive below as (
      select ${issue_id}::uuid as id
      union
      select child.id from below join issues child on child.parent_issue_id = below.id
    )
    delete from issues where ${inOrder(issues, sql`id in (select id from below)`)} returning id`);
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
    .where(inOrder(issues, inArray(issues[column], [...ids]), 'no key update'));
}
