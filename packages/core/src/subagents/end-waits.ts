import type { AgentActor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { unparkIssue } from '../issues/index.ts';
import { requestWakeups } from '../wakeups/index.ts';

interface EndedWait extends Record<string, unknown> {
  issue_id: string;
  company_id: string;
  agent_id: string;
  depth: number;
  /** One of the awaited agents: the wakeup is made in its name, so that chains of causes are counted. */
  by: string;
}

/**
 * Ends waits of the tree that are over: none of the awaited agents is active any more, or there is no one to wake. The row is
 * deleted with the wakeup, in one transaction and holding the tree's lock, so that no agent is woken twice.
 */
export async function endWaits(tx: Tx, root_agent_id: string): Promise<Change[]> {
  const { rows } = await tx.execute<EndedWait>(sql`
    delete from subagent_waits w where w.root_agent_id = ${root_agent_id} and not ${stillNeeded}
    returning w.issue_id, w.company_id, w.agent_id, w.depth,
      coalesce((select s.agent_id from subagents s
        where s.parent_agent_id = w.agent_id and s.parent_issue_id = w.issue_id
        order by s.ended_at desc nulls last limit 1), w.issue_id) as by`);
  const changes: Change[] = [];
  for (const { issue_id, company_id, agent_id, depth, by } of rows) {
    const unparked = await unparkIssue(tx, issue_id);
    // The issue is over or in the trash: there is nothing to wake the agent for.
    if (unparked === undefined) continue;
    changes.push(...unparked);
    const cause: AgentActor = {
      kind: 'agent',
      agent_id: by,
      company_id,
      name: 'sub-agents',
      key_id: null,
      permissions: {},
      run_id: null,
      depth,
    };
    const payload = { sub_agents: 'all that you waited for have ended' };
    await requestWakeups(tx, cause, [{ company_id, agent_id, issue_id, reason: 'subagent', payload }]);
  }
  return changes;
}

/** Applies to the wait `w`. Descendants of a direct sub-agent may outlive it: a recursive wait includes them. */
const stillNeeded = sql`(
  exists (select from agents a where a.id = w.agent_id and a.deleted_at is null and a.status <> 'terminated')
  and exists (select from issues i where i.id = w.issue_id and i.deleted_at is null and i.status not in ('done', 'cancelled'))
  and exists (
    select from subagents s join agents n on n.id = s.agent_id
    where s.root_agent_id = w.root_agent_id and s.ended_at is null and (
      (s.parent_agent_id = w.agent_id and s.parent_issue_id = w.issue_id)
      or (w.recursive and exists (select from subagents c
        where c.parent_agent_id = w.agent_id and c.parent_issue_id = w.issue_id and c.agent_id = any(n.ancestor_ids))))))`;

/** For the sweep: waits that `endWaits` would end. */
export const endedWaits = sql`select w.root_agent_id from subagent_waits w where not ${stillNeeded}`;
