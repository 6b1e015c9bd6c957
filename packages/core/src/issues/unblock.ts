/** "Parent auto-unblocked" (decisions 2): issues that waited for a closed issue can continue. */
import { fixedStatement, type Tx, terminalIssueStatuses } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import type { WakeupRequest } from '../wakeups/index.ts';
import { issueUpdated } from './present.ts';
import { changedNow, type IssueRow, notTrashed, selectIssues, shownIssue, toIssueRow } from './rows.ts';

interface LockedIssue {
  issue: IssueRow | undefined;
  /** Ids of the parent and of the issues it blocks; empty unless requested. */
  dependents: string[];
}

/** For the caller to record and to wake. */
interface Unblocked {
  changes: Change[];
  wakeups: WakeupRequest[];
}

/**
 * Locks the issue and, if it may be closed, everything that may be waiting for it: in id order, so that two issues closed
 * concurrently don't deadlock, and the second sees that the first is closed. Foreign keys of comments and the like are not
 * blocked (`no key update`).
 */
export async function lockIssue(tx: Tx, id: string, withDependents: boolean): Promise<LockedIssue> {
  const rows = (await (withDependents ? lockWithDependents : lockAlone)(tx, { id })).map(toIssueRow);
  return {
    issue: rows.find((row) => row.id === id),
    dependents: rows.filter((row) => row.id !== id).map((row) => row.id),
  };
}

const lockAlone = fixedStatement(
  ['id'],
  ({ id }) =>
    sql`select i.* from issues i where i.id = ${id} and i.deleted_at is null for no key update of i`,
);

// For a pair (source, target), `blocks` reads forwards and `depends_on` backwards.
const lockWithDependents = fixedStatement(
  ['id'],
  ({ id }) => sql`
    select i.* from issues i where i.deleted_at is null and i.id = any (array(
      select ${id}::uuid
      union select p.parent_issue_id from issues p where p.id = ${id} and p.parent_issue_id is not null
      union select r.target_issue_id from issue_relations r where r.source_issue_id = ${id} and r.relation_type = 'blocks'
      union select r.source_issue_id from issue_relations r where r.target_issue_id = ${id} and r.relation_type = 'depends_on'
    )) order by i.id for no key update of i`,
);

/**
 * Returns those locked dependents to `todo` that nothing blocks any more: no open child, no open blocker, and no question to a
 * human. Issues parked for sub-agents are left to the end of that wait. A separate statement after the one that closed the
 * issue, since it needs a newer snapshot.
 */
export async function unblockDependents(
  tx: Tx,
  ended: IssueRow,
  dependents: readonly string[],
): Promise<Unblocked> {
  if (dependents.length === 0) return { changes: [], wakeups: [] };
  const free = await selectIssues(
    tx,
    sql`
    update issues i set status = 'todo', blocked_at = null, blocked_reason = null, blocked_by_agent_id = null, updated_at = ${changedNow}
    where i.id in ${[...dependents]} and i.status = 'blocked' and not i.awaiting_input
      and not exists (select from subagent_waits w where w.issue_id = i.id)
      and not exists (select from issues child where child.parent_issue_id = i.id and ${open('child')})
      and not exists (
        select from issue_relations r join issues blocker on blocker.id = r.source_issue_id
        where r.target_issue_id = i.id and r.relation_type = 'blocks' and ${open('blocker')})
      and not exists (
        select from issue_relations r join issues blocker on blocker.id = r.target_issue_id
        where r.source_issue_id = i.id and r.relation_type = 'depends_on' and ${open('blocker')})
    returning ${shownIssue}`,
  );
  return {
    changes: free.map((issue) =>
      issueUpdated(issue, 'issue.unblocked', {
        changes: { status: { from: 'blocked', to: 'todo' } },
        by_issue_id: ended.id,
      }),
    ),
    wakeups: free.flatMap((issue) =>
      issue.assignee_agent_id === null
        ? []
        : {
            company_id: issue.company_id,
            agent_id: issue.assignee_agent_id,
            issue_id: issue.id,
            reason: 'unblocked' as const,
            payload: { by_issue_id: ended.id, by_identifier: ended.identifier },
          },
    ),
  };
}

/**
 * The same for an issue in the trash with all that is below it: absent along with it, none of that can be closed any more. What it
 * holds up itself is free since it was deleted.
 * @param ids of the issue and its descendants
 */
export async function unblockOutside(tx: Tx, trashed_id: string, ids: readonly string[]): Promise<Unblocked> {
  const [trashed] = await selectIssues(
    tx,
    sql`select ${shownIssue} from issues i where i.id = ${trashed_id}`,
  );
  const { rows } = await tx.execute<{ id: string }>(sql`
    with below as (select value::uuid as id from jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb))
    select i.id from issues i where i.deleted_at is null and i.status = 'blocked' and i.id = any (array(
      select r.target_issue_id from below join issue_relations r on r.source_issue_id = below.id and r.relation_type = 'blocks'
      union
      select r.source_issue_id from below join issue_relations r on r.target_issue_id = below.id and r.relation_type = 'depends_on'
      except
      select id from below
    )) order by i.id for no key update of i`);
  const dependents = rows.map(({ id }) => id);
  return trashed === undefined ? { changes: [], wakeups: [] } : unblockDependents(tx, trashed, dependents);
}

function open(issue: string) {
  const i = sql.identifier(issue);
  return sql`${notTrashed(issue)} and ${i}.status not in ${terminalIssueStatuses}`;
}
