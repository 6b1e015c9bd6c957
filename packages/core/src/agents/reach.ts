/** What one agent may do to another: nothing that would indirectly give it more rights than it has itself. */
import {
  type Actor,
  agentPermissionDefaults,
  type AgentPermission,
  permits,
  type UpdateAgent,
} from '@acp/contract';
import type { Tx } from '@acp/db';
import { forbidden } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import type { AdapterRules } from './adapter-rules.ts';
import { lockAgent } from './family-pause.ts';
import { assertMayChange, assertMayInstruct } from './placement.ts';
import type { AgentRow } from './present.ts';

const permissionKeys = Object.keys(agentPermissionDefaults) as AgentPermission[];

/** Restricted tools of an external server: agent `a` has some that `own_id` lacks. */
const hasToolsBeyond = (own_id: string): SQL => sql`exists (
  select from mcp_server_agents theirs join mcp_servers s on s.id = theirs.server_id and s.restricted
  where theirs.agent_id = a.id and not exists (
    select from mcp_server_agents own where own.server_id = theirs.server_id and own.agent_id = ${own_id}
      and (own.tools is null or own.tools @> theirs.tools)))`;

/** Whether a statement's agent `a` has rights that the acting agent lacks. People are only limited by their role. */
export function isAbove(actor: Actor): SQL {
  if (actor.kind !== 'agent') return sql`false`;
  const lacking = permissionKeys
    .filter((key) => !permits(actor.permissions, key))
    .map(
      (key) => sql`coalesce((a.permissions ->> ${key})::boolean, ${agentPermissionDefaults[key]}::boolean)`,
    );
  return sql`(a.id <> ${actor.agent_id} and (${sql.join([...lacking, hasToolsBeyond(actor.agent_id)], sql` or `)}))`;
}

/** @throws forbidden for an agent acting on one with more rights */
export async function assertWithinReach(tx: Tx, actor: Actor, { id }: { id: string }): Promise<void> {
  if (actor.kind !== 'agent' || actor.agent_id === id) return;
  const { rows } = await tx.execute<{ above: boolean }>(
    sql`select ${isAbove(actor)} as above from agents a where a.id = ${id}`,
  );
  if (rows[0]?.above === true) throw forbidden('the agent has more rights than you');
}

/** Checks whether the actor may make the change. @throws like `assertMayChange` */
export async function assertMayUpdate(
  tx: Tx,
  actor: Actor,
  agent: AgentRow,
  input: UpdateAgent,
  rules?: AdapterRules,
): Promise<void> {
  await assertWithinReach(tx, actor, agent);
  assertMayChange(actor, agent, input, rules);
}

/** Checks who may write an agent's instructions: its prompt, skills and files. @throws forbidden */
export async function assertMayTeach(
  tx: Tx,
  actor: Actor,
  agent: Pick<AgentRow, 'id' | 'company_id' | 'permissions'>,
): Promise<void> {
  await assertWithinReach(tx, actor, agent);
  assertMayInstruct(actor, agent);
}

/** The same for the agent as it is now, locked: what the scope found may be outdated. @throws forbidden, notFound */
export async function lockToTeach(tx: Tx, actor: Actor, { id }: { id: string }): Promise<AgentRow> {
  const agent = await lockAgent(tx, id);
  await assertMayTeach(tx, actor, agent);
  return agent;
}
