import { type Tx, liveRunStatuses } from '@acp/db';
import { sql } from 'drizzle-orm';
import { systemActor } from '../activity/index.ts';
import { budgetHeld } from '../agents/index.ts';
import { actionableFor } from '../issues/index.ts';
import { requestWakeups } from '../wakeups/index.ts';
import { scopesOfRun } from './run-scopes.ts';

/** The category of a run that a budget ended. */
export const BUDGET_CATEGORY = 'budget';

/**
 * Wakes the assignees of issues whose last run a budget cut off, if none blocks it any more and the agent may still work on the
 * issue: once, since the run that follows is then the last one.
 */
export async function wakeCutOff(tx: Tx, company_id: string): Promise<void> {
  const { rows } = await tx.execute<{ id: string; agent_id: string }>(sql`
    select i.id, i.assignee_agent_id as agent_id
    from issues i cross join lateral (
      select r.* from heartbeat_runs r where r.issue_id = i.id
      order by r.created_at desc nulls last, r.id desc nulls last limit 1
    ) last
    where i.company_id = ${company_id} and ${actionableFor(sql`i.assignee_agent_id`)}
      and last.agent_id = i.assignee_agent_id and last.status = 'failed' and last.error_category = ${BUDGET_CATEGORY}
      and not exists (select from heartbeat_runs live where live.issue_id = i.id and live.status in ${liveRunStatuses})
      and not exists (select from wakeup_requests w
        where w.agent_id = i.assignee_agent_id and w.issue_id = i.id and w.status = 'pending')
      and not ${budgetHeld(scopesOfRun('last'))}
    order by i.assignee_agent_id, i.id`);
  await requestWakeups(
    tx,
    systemActor('budgets'),
    rows.map(({ id, agent_id }) => ({ company_id, agent_id, issue_id: id, reason: 'unblocked' })),
  );
}
