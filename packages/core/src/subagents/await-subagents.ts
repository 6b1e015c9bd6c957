import type { AgentActor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, invalid } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { assertCauseDepth, causeDepth } from '../activity/index.ts';
import { type IssueRow, parkIssue } from '../issues/index.ts';
import { lockTree } from './tree.ts';

const { subagent_waits } = schema;

/**
 * Parks the issue until the sub-agents that the actor has spawned for it have ended. The run continues to its end, which
 * releases slot and lease; some of them may end before that.
 * @param recursive the sub-agents below them must end too
 * @throws invalid if there are none, conflict if all had ended before the run began, as its prompt contained the results
 * @returns how many are active
 */
export async function awaitSubagents(
  tx: Tx,
  actor: AgentActor,
  issue: IssueRow,
  { recursive }: { recursive: boolean },
): Promise<number> {
  const root_agent_id = await lockTree(tx, actor.agent_id);
  const { rows } = await tx.execute<{ spawned: number; living: number; news: number }>(sql`
    with recursive mine as (
      select s.agent_id, s.ended_at from subagents s
      where s.parent_agent_id = ${actor.agent_id} and s.parent_issue_id = ${issue.id}
      union
      select s.agent_id, s.ended_at from mine join subagents s on s.parent_agent_id = mine.agent_id where ${recursive}::boolean
    )
    select count(*)::int as spawned, (count(*) filter (where ended_at is null))::int as living,
      (count(*) filter (where ended_at is null or ended_at >= (
        select started_at from heartbeat_runs where id = ${actor.run_id})))::int as news
    from mine`);
  const { spawned, living, news } = rows[0]!;
  if (spawned === 0) throw invalid('you have not spawned any sub-agents for this issue');
  if (news === 0) throw conflict('all of them have already ended: their results are in your prompt');
  assertCauseDepth(causeDepth(actor));
  if (['done', 'cancelled'].includes(issue.status)) throw conflict(`${issue.identifier} is ${issue.status}`);
  const { company_id, id: issue_id } = issue;
  const wait = { agent_id: actor.agent_id, recursive, depth: actor.depth };
  await tx
    .insert(subagent_waits)
    .values({ issue_id, company_id, root_agent_id, ...wait })
    .onConflictDoUpdate({ target: subagent_waits.issue_id, set: { ...wait, root_agent_id } });
  await parkIssue(tx, actor, issue, 'waits for sub-agents');
  // The last of them may have ended in the meantime.
  await enqueue(tx, 'settle-subagents', { agent_id: root_agent_id });
  return living;
}
