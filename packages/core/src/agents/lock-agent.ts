import { type Tx, schema } from '@acp/db';
import { notFound } from '@acp/kernel';
import { and, eq, isNull } from 'drizzle-orm';
import { agentColumns, type AgentRow } from './present.ts';

const { agents } = schema;

/** @throws notFound. The current row: with the scope's copy, two concurrent changes could undo each other's checks. */
export async function lockAgent(tx: Tx, agent_id: string): Promise<AgentRow> {
  const [row] = await tx
    .select(agentColumns)
    .from(agents)
    .where(and(eq(agents.id, agent_id), isNull(agents.deleted_at)))
    .for('no key update');
  if (!row) throw notFound();
  return row;
}
