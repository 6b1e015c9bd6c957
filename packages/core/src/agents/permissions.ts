import { type Actor, agentPermissionDefaults, type AgentPermission, permits } from '@acp/contract';
import { type Tx, schema, signal } from '@acp/db';
import { conflict, forbidden, invalid, notFound, said } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { below, lockFamily } from './family-pause.ts';
import { isCompanyAdmin } from './policy.ts';
import { type AgentRow, summarizeAgent } from './present.ts';

const { agents } = schema;
const keys = Object.keys(agentPermissionDefaults) as AgentPermission[];

/** All keys with their effective values (decisions 3, Agent permissions). */
export function agentPermissions({ permissions }: Pick<AgentRow, 'permissions'>): Record<string, boolean> {
  return Object.fromEntries(keys.map((key) => [key, permits(permissions, key)]));
}

/**
 * Sets permissions; unnamed keys stay. Effective from the agent's next call, in every process.
 * @throws invalid, naming an unknown key; forbidden for agents, and for `secrets.use` from anyone but an admin
 */
export async function updatePermissions(
  tx: Tx,
  actor: Actor,
  subject: AgentRow,
  input: Readonly<Record<string, boolean>>,
): Promise<Record<string, boolean>> {
  if (actor.kind === 'agent') throw forbidden('agents cannot change permissions');
  const unknown = Object.keys(input).find((key) => !Object.hasOwn(agentPermissionDefaults, key));
  if (unknown !== undefined) throw invalid(said`unknown permission: ${unknown}`);
  await lockFamily(tx, subject.id);
  const [before] = await tx
    .select()
    .from(agents)
    .where(and(eq(agents.id, subject.id), isNull(agents.deleted_at)));
  if (!before) throw notFound();
  const changed = keys.filter((key) => key in input && input[key] !== permits(before.permissions, key));
  if (changed.length === 0) return agentPermissions(before);
  // Permission to grant `secrets.use` amounts to permission to read the secrets.
  if (changed.includes('secrets.use') && !isCompanyAdmin(actor, before.company_id))
    throw forbidden('only admins can grant secrets.use');
  await assertNotAboveParent(tx, before, input);
  const set = Object.fromEntries(changed.map((key) => [key, input[key]!]));
  const [row] = await tx
    .update(agents)
    .set({ permissions: { ...before.permissions, ...set }, updated_at: sql`now()` })
    .where(eq(agents.id, before.id))
    .returning();
  signal(tx, 'credentials', before.id);
  const withheld = changed.filter((key) => !set[key]);
  if (withheld.length > 0) await revokeFromSubagents(tx, before.id, withheld);
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

/** A sub-agent may never do what the agent that spawned it may not. @throws conflict */
async function assertNotAboveParent(
  tx: Tx,
  agent: Pick<AgentRow, 'parent_agent_id'>,
  input: Readonly<Record<string, boolean>>,
): Promise<void> {
  if (agent.parent_agent_id === null) return;
  const [parent] = await tx
    .select({ permissions: agents.permissions })
    .from(agents)
    .where(eq(agents.id, agent.parent_agent_id));
  const above = keys.find((key) => input[key] === true && parent && !permits(parent.permissions, key));
  if (above !== undefined) throw conflict(said`the agent that spawned it has no permission ${above}`);
}

/** Sub-agents lose whatever permissions their agent loses. */
async function revokeFromSubagents(
  tx: Tx,
  agent_id: string,
  withheld: readonly AgentPermission[],
): Promise<void> {
  const off = Object.fromEntries(withheld.map((key) => [key, false]));
  const rows = await tx
    .update(agents)
    .set({ permissions: sql`${agents.permissions} || ${JSON.stringify(off)}::jsonb`, updated_at: sql`now()` })
    .where(below(agent_id))
    .returning({ id: agents.id });
  for (const { id } of rows) signal(tx, 'credentials', id);
}
