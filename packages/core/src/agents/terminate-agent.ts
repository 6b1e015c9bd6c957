import { type Tx, schema, signal } from '@acp/db';
import { enqueue } from '@acp/queue';
import { and, eq, ne, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { revokeAgentKeys } from './keys.ts';
import { summarizeAgent } from './present.ts';

const { agents } = schema;

/**
 * Ends an agent whose work is done: it is no longer woken, its keys are revoked, and `settle-agent` ends what it still has.
 * @returns changes for the caller's `recordChanges`; empty if it had already ended
 */
export async function terminateAgent(tx: Tx, agent_id: string, reason: string): Promise<Change[]> {
  const [row] = await tx
    .update(agents)
    .set({ status: 'terminated', pause_reason: null, budget_paused: false, updated_at: sql`now()` })
    .where(and(eq(agents.id, agent_id), ne(agents.status, 'terminated')))
    .returning();
  if (row === undefined) return [];
  signal(tx, 'credentials', agent_id);
  await revokeAgentKeys(tx, { agent_id });
  await enqueue(tx, 'settle-agent', { agent_id });
  return [
    {
      company_id: row.company_id,
      action: 'agent.terminated',
      entity_type: 'agent',
      entity_id: agent_id,
      details: { reason },
      event: { type: 'agent_updated', data: summarizeAgent(row) },
    },
  ];
}
