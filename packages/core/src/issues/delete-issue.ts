import type { Actor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { moveToTrash } from '../trash/index.ts';
import { requestWakeups } from '../wakeups/index.ts';
import { changedNow, type IssueRow } from './rows.ts';
import { lockIssue, unblockDependents } from './unblock.ts';
import type { Later } from './update-issue.ts';

/**
 * Moves the issue to the trash (decisions 7.6), releasing its checkout and unblocking its dependents. `settle-issue` cancels
 * live runs and pending wakeups of the issue and its descendants, which count as absent from now on.
 * @param later takes whom it wakes
 */
export async function deleteIssue(
  tx: Tx,
  actor: Actor,
  subject: IssueRow,
  later?: Pick<Later, 'wakeups'>,
): Promise<void> {
  const { issue, dependents } = await lockIssue(tx, subject.id, true);
  if (!issue) throw notFound();
  await tx.execute(sql`
    update issues set deleted_at = now(), updated_at = ${changedNow},
      checked_out_by_agent_id = null, checked_out_at = null, checkout_run_id = null,
      self_checkout_agent_id = null
    where id = ${issue.id}`);
  const waiting = await unblockDependents(tx, issue, dependents);
  if (later) later.wakeups.push(...waiting.wakeups);
  else await requestWakeups(tx, actor, waiting.wakeups);
  await moveToTrash(tx, actor, {
    type: 'issue',
    entity_id: issue.id,
    company_id: issue.company_id,
    name: `${issue.identifier} ${issue.title}`,
  });
  await enqueue(tx, 'settle-issue', { issue_id: issue.id });
  await recordChanges(tx, actor, [
    {
      company_id: issue.company_id,
      action: 'issue.deleted',
      entity_type: 'issue',
      entity_id: issue.id,
      details: { identifier: issue.identifier, title: issue.title },
      event: { type: 'issue_deleted', data: { id: issue.id } },
    },
    ...waiting.changes,
  ]);
}

/** The issue and its descendants, in the trash or not, for `settle-issue`. */
export async function issueAndDescendants(tx: Tx, issueId: string): Promise<{ id: string }[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    with recursive below as (
      select ${issueId}::uuid as id
      union
      select child.id from below join issues child on child.parent_issue_id = below.id
    )
    select id from below`);
  return rows;
}
