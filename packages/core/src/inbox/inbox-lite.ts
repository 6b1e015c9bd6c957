import type { Issue, Wakeup } from '@acp/contract';
import { MOST_ROWS, type Tx } from '@acp/db';
import type { AgentRow } from '../agents/index.ts';
import { openIssuesOf } from '../issues/index.ts';
import { consumeInbox, presentWakeup } from '../wakeups/index.ts';

/** The agent's inbox; reading it consumes the agent's pending wakeups (specification, Agents). */
export async function inboxLite(
  tx: Tx,
  agent: Pick<AgentRow, 'id' | 'company_id'>,
): Promise<{ issues: Issue[]; wakeup_requests: Wakeup[] }> {
  const issues = await openIssuesOf(tx, agent, MOST_ROWS);
  const wakeups = await consumeInbox(tx, agent.id);
  return { issues, wakeup_requests: wakeups.map(presentWakeup) };
}
