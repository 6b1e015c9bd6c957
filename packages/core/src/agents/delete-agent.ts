import type { Actor } from '@acp/contract';
import { type Tx, schema, signal } from '@acp/db';
import { notFound } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { moveToTrash } from '../trash/index.ts';
import { revokeAgentKeys } from './keys.ts';
import { lockWith } from './family-pause.ts';
import { type AgentRow, summarizeAgent } from './present.ts';
import { assertWithinReach } from './reach.ts';

const { agents } = schema;

/**
 * Moves the agent to the trash: its reports lose their manager, its keys are revoked for good, and the job ends what it left
 * behind (runs, checkouts, wakeups).
 * @throws notFound if it is already there, forbidden for an agent with fewer rights
 */
export async function deleteAgent(tx: Tx, actor: Actor, agent: AgentRow): Promise<void> {
  await assertWithinReach(tx, actor, agent);
  await lockWith(tx, agent.id, eq(agents.reports_to, agent.id));
  const freed = tx.$with('freed').as(
    tx
      .update(agents)
      .set({ reports_to: null, updated_at: sql`now()` })
      .where(eq(agents.reports_to, agent.id))
      .returning({ id: agents.id }),
  );
  const [row] = await tx
    .with(freed)
    .update(agents)
    .set({ deleted_at: sql`now()`, updated_at: sql`now()` })
    .where(and(eq(agents.id, agent.id), isNull(agents.deleted_at)))
    .returning();
  if (!row) throw notFound();
  signal(tx, 'credentials', agent.id);
  await revokeAgentKeys(tx, { agent_id: agent.id });
  const { id: entity_id, company_id, name } = row;
  await moveToTrash(tx, actor, { type: 'agent', entity_id, company_id, name });
  await enqueue(tx, 'settle-agent', { agent_id: agent.id });
  await recordChanges(tx, actor, [
    {
      company_id: row.company_id,
      action: 'agent.deleted',
      entity_type: 'agent',
      entity_id: row.id,
      details: { name: row.name },
      // The event table has no deletion of agents: to observers, the agent is terminated.
      event: { type: 'agent_updated', data: { ...summarizeAgent(row), status: 'terminated' } },
    },
  ]);
}
