import type { Issue } from '@acp/contract';
import { type Tx, actionableIssueStatuses, terminalIssueStatuses } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { MAX_STALLED_RUNS } from '../wakeups/index.ts';
import { presentIssue } from './present.ts';
import { notTrashed, readIssues, shownIssue } from './rows.ts';

/** Order of an agent's work; `i` is the issue. Begun before new; same-millisecond issues by number. */
export const mostUrgentFirst = sql`
  array_position(array['critical', 'high', 'medium', 'low'], i.priority), i.status <> 'in_progress', i.created_at, i.issue_number`;

/**
 * Condition on the issue `i`: the agent may work on it unprompted. Excludes issues that another agent has checked out, that
 * wait for routing or that the loop breaker has stopped.
 */
export function actionableFor(agentId: SQL | string): SQL {
  return sql`i.assignee_agent_id = ${agentId} and i.status in ${actionableIssueStatuses} and ${notTrashed('i')}
    and not i.needs_routing and not i.needs_human_attention and i.stalled_runs < ${MAX_STALLED_RUNS}
    and coalesce(i.checked_out_by_agent_id, ${agentId}) = ${agentId}`;
}

/** All open issues assigned to the agent, for its inbox, most urgent first. */
export async function openIssuesOf(
  tx: Tx,
  agent: { id: string; company_id: string },
  limit: number,
): Promise<Issue[]> {
  const rows = await readIssues(
    tx,
    sql`select ${shownIssue} from issues i
        where i.company_id = ${agent.company_id} and i.assignee_agent_id = ${agent.id}
          and i.status not in ${terminalIssueStatuses} and ${notTrashed('i')}
        order by ${mostUrgentFirst} limit ${limit}`,
  );
  return rows.map(presentIssue);
}
