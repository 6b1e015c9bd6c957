import { liveRunStatuses, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { HEARTBEAT } from '../heartbeats/index.ts';
import { notTrashed } from '../issues/index.ts';
import { LOST_CATEGORY } from '../runs/index.ts';
import type { ActiveSubagent } from './decide.ts';

// Limit in characters: more than a prompt shows of it.
const SAID = 20_000;
const LOOKED_BACK = 5;

const lastRuns = sql`(select r.status, r.error, r.error_category as category, r.created_at, r.id
  from heartbeat_runs r where r.agent_id = s.agent_id and r.issue_id = s.issue_id and r.kind = ${HEARTBEAT}
  order by r.created_at desc, r.id desc limit ${LOOKED_BACK})`;

/** The active sub-agents of a tree, parents before children, in one snapshot. */
export async function readActiveSubagents(tx: Tx, root_agent_id: string): Promise<ActiveSubagent[]> {
  const { rows } = await tx.execute<{ [K in keyof ActiveSubagent]: ActiveSubagent[K] }>(sql`
    select s.agent_id, s.parent_agent_id, s.issue_id, a.name,
      a.deleted_at is not null or a.status = 'terminated' as agent_over,
      i.id is null or not (${notTrashed('i')}) as issue_over,
      coalesce(i.status, 'cancelled') as issue_status,
      i.assignee_agent_id is distinct from s.agent_id as handed_on,
      p.id is null or p.deleted_at is not null or (ps.agent_id is null and p.status = 'terminated')
        or coalesce(ps.outcome <> 'done', false) as parent_over,
      pi.id is null or pi.status = 'cancelled' or not (${notTrashed('pi')}) as parent_issue_over,
      exists (select from heartbeat_runs r where r.agent_id = s.agent_id and r.status in ${liveRunStatuses}) as live_run,
      exists (select from wakeup_requests w
        where w.agent_id = s.agent_id and w.issue_id = s.issue_id and w.status = 'pending') as pending,
      exists (select from subagent_waits w where w.issue_id = s.issue_id) as waits,
      (select jsonb_build_object('status', r.status, 'error', r.error, 'category', r.category)
        from ${lastRuns} r order by r.created_at desc, r.id desc limit 1) as last_run,
      (select count(*)::int from ${lastRuns} r where r.category = ${LOST_CATEGORY}) as lost_runs,
      (select left(m.body_markdown, ${SAID}) from comments m
        where m.issue_id = s.issue_id and m.author_agent_id = s.agent_id
        order by m.created_at desc, m.id desc limit 1) as said
    from subagents s join agents a on a.id = s.agent_id
    left join issues i on i.id = s.issue_id
    left join agents p on p.id = s.parent_agent_id
    left join subagents ps on ps.agent_id = s.parent_agent_id
    left join issues pi on pi.id = s.parent_issue_id
    where s.root_agent_id = ${root_agent_id} and s.ended_at is null
    order by a.subagent_depth, s.created_at, s.agent_id`);
  return rows;
}
