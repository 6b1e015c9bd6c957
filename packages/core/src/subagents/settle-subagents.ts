import type { SubagentOutcome } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { terminateAgent } from '../agents/index.ts';
import { findIssue, updateIssue } from '../issues/index.ts';
import { cancelRuns } from '../runs/index.ts';
import { requestWakeups } from '../wakeups/index.ts';
import { decide, type ActiveSubagent } from './decide.ts';
import { readActiveSubagents } from './read-active.ts';
import { endWaits } from './end-waits.ts';
import { lockTree } from './tree.ts';

const scheduler = systemActor('scheduler');
const open = ['backlog', 'todo', 'in_progress', 'in_review', 'blocked'];

/**
 * The job `settle-subagents`: ends the sub-agents of the tree whose work is over, parents first, and wakes agents whose last
 * awaited sub-agent has ended. Idempotent. Needs a transaction of its own.
 */
export async function settleSubagents(tx: Tx, agent_id: string): Promise<void> {
  const root = await lockTree(tx, agent_id);
  // Lock order: agents before issues. A claim needs the agent's lock, so no run can begin while its agent is being ended.
  await tx.execute(sql`
    select a.id from subagents s join agents a on a.id = s.agent_id
    where s.root_agent_id = ${root} and s.ended_at is null order by a.id for no key update of a`);
  const over = new Set<string>();
  const changes: Change[] = [];
  for (const sub of await readActiveSubagents(tx, root)) {
    const decision = decide(sub, over.has(sub.parent_agent_id));
    if (decision.what === 'wake') await wake(tx, sub);
    if (decision.what === 'call off') {
      over.add(sub.agent_id);
      const which = sql`r.agent_id = ${sub.agent_id}`;
      changes.push(...(await cancelRuns(tx, which, 'the sub-agent is not needed any more')));
    }
    if (decision.what !== 'end') continue;
    if (decision.outcome !== 'done') over.add(sub.agent_id);
    changes.push(...(await endOne(tx, sub, decision)));
  }
  changes.push(...(await endWaits(tx, root)));
  await recordChanges(tx, scheduler, changes);
}

async function wake(tx: Tx, { agent_id, issue_id }: ActiveSubagent): Promise<void> {
  const issue = await findIssue(tx, issue_id);
  if (issue === undefined) return;
  const { company_id } = issue;
  await requestWakeups(tx, scheduler, [{ company_id, agent_id, issue_id, reason: 'subagent' }]);
}

async function endOne(
  tx: Tx,
  sub: ActiveSubagent,
  { outcome, reason }: { outcome: SubagentOutcome; reason: string | null },
): Promise<Change[]> {
  const result = [reason, sub.said].filter((part) => part !== null).join('\n\n') || null;
  await tx.execute(sql`
    update subagents set outcome = ${outcome}, result = ${result}, ended_at = clock_timestamp()
    where agent_id = ${sub.agent_id}`);
  const issue = sub.issue_over ? undefined : await findIssue(tx, sub.issue_id);
  if (issue !== undefined && open.includes(issue.status))
    await updateIssue(tx, scheduler, issue, { status: outcome === 'done' ? 'done' : 'cancelled' });
  return terminateAgent(tx, sub.agent_id, `its work is over: ${outcome}`);
}
