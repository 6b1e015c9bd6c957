/** What a run does to its issue (decisions 7.13, 8.2). These answer changes instead of recording them, so that the
 * claim and the end of a run write all their activity in one statement. */
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { MAX_STALLED_RUNS } from '../wakeups/index.ts';
import { stalledNotice } from './notices.ts';
import { issueUpdated } from './present.ts';
import { type IssueRow, notTrashed, selectIssues, toIssueRow } from './rows.ts';

export interface RunCheckout {
  issue: IssueRow;
  changes: Change[];
}

export interface RunOfIssue {
  id: string;
  agent_id: string;
  issue_id: string | null;
  started_at: Date | null;
}

/** Checks the issue out for a run; undefined when another agent holds it or it is gone. */
export async function checkoutForRun(
  tx: Tx,
  issueId: string,
  agentId: string,
  runId: string,
): Promise<RunCheckout | undefined> {
  // A checkout that an earlier run of the agent left behind is taken over as this run's: only one taken by the agent
  // itself counts as held before.
  const { rows } = await tx.execute(sql`
    with held as (
      select i.id, i.checked_out_by_agent_id = ${agentId}::uuid and i.checkout_run_id is null as before
      from issues i join companies c on c.id = i.company_id and c.deleted_at is null
      where i.id = ${issueId} and ${notTrashed('i')}
      for no key update of i
    )
    update issues i set
      checked_out_by_agent_id = ${agentId},
      checked_out_at = case when coalesce(held.before, false) then i.checked_out_at else now() end,
      checkout_run_id = case when coalesce(held.before, false) then null else ${runId}::uuid end
    from held
    where i.id = held.id and coalesce(i.checked_out_by_agent_id, ${agentId}) = ${agentId}
    returning i.*, coalesce(held.before, false) as held_before`);
  const [raw] = rows;
  if (!raw) return undefined;
  const issue = toIssueRow(raw);
  const heldBefore = raw.held_before === true;
  return {
    issue,
    changes: heldBefore ? [] : [issueUpdated(issue, 'issue.checked_out', { run_id: runId })],
  };
}

/**
 * At the end of a run, however it ends: gives the checkout back, unless it is the agent's own and from before the run;
 * one that was released since and taken anew goes. With an outcome also counts the run for the loop breaker: one that
 * changed the issue starts the count anew.
 */
export async function releaseAfterRun(
  tx: Tx,
  run: RunOfIssue,
  outcome?: { changed: boolean },
): Promise<Change[]> {
  if (run.issue_id === null) return [];
  // What a run takes over bears its id; what the agent had itself, and has still, is older than the run.
  const own = sql`(i.checkout_run_id is null and coalesce(i.checked_out_at, '-infinity') < ${run.started_at?.toISOString() ?? null}::timestamptz)`;
  const release = sql`(not coalesce(${own}, false) and i.checked_out_by_agent_id is not distinct from ${run.agent_id}::uuid)`;
  const [issue] = await selectIssues(
    tx,
    sql`update issues i set
          checked_out_by_agent_id = case when ${release} then null else i.checked_out_by_agent_id end,
          checked_out_at = case when ${release} then null else i.checked_out_at end,
          checkout_run_id = case when ${release} then null else i.checkout_run_id end,
          ${countRun(outcome?.changed)}
        where i.id = ${run.issue_id}
        returning i.*`,
  );
  return issue && issue.deleted_at === null ? counted(issue, outcome?.changed) : [];
}

/** A run that changed nothing may have been the one at which the loop breaker stops. */
const counted = (issue: IssueRow, changed: boolean | undefined): Change[] => [
  issueUpdated(issue, undefined),
  ...(changed === false ? stalledNotice(issue) : []),
];

function countRun(changed: boolean | undefined) {
  if (changed === undefined) return sql`stalled_runs = i.stalled_runs`;
  if (changed) return sql`stalled_runs = 0`;
  return sql`stalled_runs = i.stalled_runs + 1,
    needs_human_attention = i.needs_human_attention or i.stalled_runs + 1 >= ${MAX_STALLED_RUNS}`;
}
