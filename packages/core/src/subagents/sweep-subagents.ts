import { liveRunStatuses, type Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { endedWaits } from './end-waits.ts';

const MOST = 200;

/**
 * Catches lost `settle-subagents` jobs: trees with an active sub-agent that is idle or no longer needed, or with waits that are
 * over. There are few active ones, so each is checked. @returns how many trees
 */
export async function sweepSubagents(tx: Tx): Promise<number> {
  const { rows } = await tx.execute<{ agent_id: string }>(sql`
    select root_agent_id as agent_id from (
      select s.root_agent_id from subagents s join agents a on a.id = s.agent_id
      left join issues i on i.id = s.issue_id
      left join agents p on p.id = s.parent_agent_id
      left join subagents ps on ps.agent_id = s.parent_agent_id
      left join issues pi on pi.id = s.parent_issue_id
      where s.ended_at is null and s.created_at < now() - interval '30 seconds' and (
        a.deleted_at is not null or a.status = 'terminated' or i.id is null or i.deleted_at is not null
        or p.id is null or p.deleted_at is not null or (ps.agent_id is null and p.status = 'terminated') or ps.outcome <> 'done'
        or pi.id is null or pi.deleted_at is not null or pi.status = 'cancelled'
        or (i.status in ('todo', 'in_progress', 'done', 'cancelled')
          and not exists (select from heartbeat_runs r where r.agent_id = s.agent_id and r.status in ${liveRunStatuses})
          and (i.status in ('done', 'cancelled') or i.assignee_agent_id = s.agent_id and not exists (select from wakeup_requests w
            where w.agent_id = s.agent_id and w.issue_id = s.issue_id and w.status = 'pending')))
      )
      union
      ${endedWaits}
    ) tree limit ${MOST}`);
  await enqueueMany(tx, 'settle-subagents', rows);
  return rows.length;
}
