import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { eq, inArray, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { requestWakeups } from '../wakeups/index.ts';
import { isActionable } from './policy.ts';
import { issueUpdated } from './present.ts';
import { issueFields, type IssueRow } from './rows.ts';

const { issues } = schema;

/**
 * Out of the trash, with what lies below it; nobody holds it. The assignee is woken where there is something to do.
 * @throws conflict when it does not lie there
 */
export async function restoreIssue(tx: Tx, actor: Actor, issue_id: string): Promise<void> {
  const [issue] = await tx
    .update(issues)
    .set({ deleted_at: null, updated_at: sql`now()` })
    .where(eq(issues.id, issue_id))
    .returning(issueFields);
  if (!issue) throw conflict('the issue is gone');
  await requestWakeups(tx, actor, wakeupsOf(issue));
  await recordChanges(tx, actor, [issueUpdated(issue, 'issue.restored')]);
}

function wakeupsOf({ id, company_id, assignee_agent_id, status }: IssueRow) {
  if (assignee_agent_id === null || !isActionable(status)) return [];
  return [{ company_id, agent_id: assignee_agent_id, issue_id: id, reason: 'assignment' as const }];
}

/** The issue and all below it, for good: without their parent, children would come back. @returns the ids of what is gone */
export async function purgeIssue(tx: Tx, issue_id: string): Promise<string[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    with recursive below as (
      select ${issue_id}::uuid as id
      union
      select child.id from below join issues child on child.parent_issue_id = below.id
    )
    delete from issues where id in (select id from below) returning id`);
  return rows.map(({ id }) => id);
}

/** Issues name nothing that is gone for good. */
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
