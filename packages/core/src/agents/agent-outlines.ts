import type { Agent } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { and, desc, eq, isNull, sql } from 'drizzle-orm';
import { agentColumns } from './present.ts';

const { agents } = schema;

/** What a page says of an agent other than the one it is about: its name, and what it is offered for. */
export type AgentOutline = Pick<
  Agent,
  | 'id'
  | 'name'
  | 'role'
  | 'title'
  | 'status'
  | 'reports_to'
  | 'parent_agent_id'
  | 'adapter_type'
  | 'provider_id'
  | 'model'
>;

/** Beyond these, only finished sub-agents are left out, unless a company has more agents. */
const MOST = 5000;

/**
 * The company's agents, newest first, finished sub-agents last. Without what is long, such as prompts: lists of whole agents end
 * after a thousand or a few megabytes, and names and choices must not.
 */
export async function listAgentOutlines(tx: Tx, company_id: string): Promise<AgentOutline[]> {
  const { id, name, role, title, status, parent_agent_id, adapter_type, provider_id, model } = agents;
  const { reports_to } = agentColumns;
  const rows = await tx
    .select({ id, name, role, title, status, reports_to, parent_agent_id, adapter_type, provider_id, model })
    .from(agents)
    .where(and(eq(agents.company_id, company_id), isNull(agents.deleted_at)))
    .orderBy(
      sql`${parent_agent_id} is not null and ${status} = 'terminated'`,
      desc(agents.created_at),
      desc(agents.id),
    )
    .limit(MOST);
  return rows as AgentOutline[];
}
