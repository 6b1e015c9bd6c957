import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import { eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { revokeAgentKeys } from './keys.ts';
import { summarizeAgent, agentColumns } from './present.ts';
import { isWakeable } from './status.ts';

const { agents } = schema;

/**
 * Restores an agent from the trash: without its keys, without a manager that is in the trash itself, and idle if it was running
 * when deleted. Its former reports still have no manager. @throws conflict if it is not in the trash
 */
export async function restoreAgent(tx: Tx, actor: Actor, agent_id: string): Promise<void> {
  const running = sql`exists (select from heartbeat_runs run where run.agent_id = ${agents.id} and run.status = 'running')`;
  const manager = sql`(select above.id from agents above where above.id = ${agents.reports_to} and above.deleted_at is null)`;
  const [row] = await tx
    .update(agents)
    .set({
      deleted_at: null,
      updated_at: sql`now()`,
      reports_to: manager,
      status: sql`case when ${agents.status} = 'running' and not ${running} then 'idle' else ${agents.status} end`,
    })
    .where(eq(agents.id, agent_id))
    .returning(agentColumns);
  if (!row) throw conflict('the agent is gone');
  await revokeAgentKeys(tx, { agent_id });
  if (isWakeable(row.status)) await enqueue(tx, 'dispatch-agent', { agent_id });
  await recordChanges(tx, actor, [
    {
      company_id: row.company_id,
      action: 'agent.restored',
      entity_type: 'agent',
      entity_id: row.id,
      details: { name: row.name },
      event: { type: 'agent_updated', data: summarizeAgent(row) },
    },
  ]);
}

/** Deletes it for good, with runs, keys and files. @returns the deleted ids */
export async function purgeAgent(tx: Tx, agent_id: string): Promise<string[]> {
  await tx.delete(agents).where(eq(agents.id, agent_id));
  return [agent_id];
}

/** Whether it is trashed or terminated: checked by the job that ends what it left behind. Locks its row. */
export async function hasAgentEnded(tx: Tx, agent_id: string): Promise<boolean> {
  const [row] = await tx
    .select({ status: agents.status, deleted_at: agents.deleted_at })
    .from(agents)
    .where(eq(agents.id, agent_id))
    .for('no key update');
  return row !== undefined && (row.deleted_at !== null || row.status === 'terminated');
}
