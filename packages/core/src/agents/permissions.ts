import { type Actor, agentPermissionDefaults, type AgentPermission, permits } from '@acp/contract';
import { type Tx, schema, signal } from '@acp/db';
import { forbidden, invalid, notFound } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { isCompanyAdmin } from './policy.ts';
import { type AgentRow, summarizeAgent } from './present.ts';

const { agents } = schema;
const keys = Object.keys(agentPermissionDefaults) as AgentPermission[];

/** All keys with their effective values (decisions 3, Agent permissions). */
export function agentPermissions({ permissions }: Pick<AgentRow, 'permissions'>): Record<string, boolean> {
  return Object.fromEntries(keys.map((key) => [key, permits(permissions, key)]));
}

/**
 * Sets permissions; keys that are not named stay. They hold from the agent's next call on, in every process.
 * @throws invalid, naming the unknown key, forbidden for agents, and for `secrets.use` from anybody but an admin
 */
export async function updatePermissions(
  tx: Tx,
  actor: Actor,
  subject: AgentRow,
  input: Readonly<Record<string, boolean>>,
): Promise<Record<string, boolean>> {
  if (actor.kind === 'agent') throw forbidden('agents cannot change permissions');
  const unknown = Object.keys(input).find((key) => !Object.hasOwn(agentPermissionDefaults, key));
  if (unknown !== undefined) throw invalid(`unknown permission: ${unknown}`);
  const [before] = await tx
    .select()
    .from(agents)
    .where(and(eq(agents.id, subject.id), isNull(agents.deleted_at)))
    .for('no key update');
  if (!before) throw notFound();
  const changed = keys.filter((key) => key in input && input[key] !== permits(before.permissions, key));
  if (changed.length === 0) return agentPermissions(before);
  // A right to grant `secrets.use` is a right to read the secrets.
  if (changed.includes('secrets.use') && !isCompanyAdmin(actor, before.company_id))
    throw forbidden('secrets.use is for admins to give');
  const set = Object.fromEntries(changed.map((key) => [key, input[key]!]));
  const [row] = await tx
    .update(agents)
    .set({ permissions: { ...before.permissions, ...set }, updated_at: sql`now()` })
    .where(eq(agents.id, before.id))
    .returning();
  signal(tx, 'credentials', before.id);
  await recordChanges(tx, actor, [
    {
      company_id: before.company_id,
      action: 'agent.permissions_changed',
      entity_type: 'agent',
      entity_id: before.id,
      details: { permissions: set },
      event: { type: 'agent_updated', data: summarizeAgent(row!) },
    },
  ]);
  return agentPermissions(row!);
}
