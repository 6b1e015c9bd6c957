import type { Agent } from '@acp/contract';
import { byCreation, containing, newestFirst, type Page, schema, type SearchRequest, type Tx } from '@acp/db';
import { and, desc, eq, isNull, sql } from 'drizzle-orm';
import { agentColumns } from './present.ts';
import { wordsOfAgent } from './read-agents.ts';

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

const { id, name, role, title, status, reports_to, parent_agent_id, adapter_type, provider_id, model } =
  agentColumns;
const outlineColumns = {
  id,
  name,
  role,
  title,
  status,
  reports_to,
  parent_agent_id,
  adapter_type,
  provider_id,
  model,
};

/** Beyond these, only finished sub-agents are left out, unless a company has more agents. */
const MOST = 5000;

/**
 * The company's agents, newest first, finished sub-agents last. Without what is long, such as prompts: lists of whole agents end
 * after a thousand or a few megabytes, and names and choices must not.
 */
export async function listAgentOutlines(tx: Tx, company_id: string): Promise<AgentOutline[]> {
  const rows = await tx
    .select(outlineColumns)
    .from(agents)
    .where(and(eq(agents.company_id, company_id), isNull(agents.deleted_at)))
    .orderBy(
      sql`${agents.parent_agent_id} is not null and ${agents.status} = 'terminated'`,
      desc(agents.created_at),
      desc(agents.id),
    )
    .limit(MOST);
  return rows as AgentOutline[];
}

/** Those with the ids, in no order: what a page names is never left out, whatever the size of the company. */
export async function agentOutlinesById(
  tx: Tx,
  company_id: string,
  ids: readonly (string | null | undefined)[],
): Promise<AgentOutline[]> {
  const wanted = [...new Set(ids.filter((one) => one !== null && one !== undefined))];
  if (wanted.length === 0) return [];
  const mine = and(
    eq(agents.company_id, company_id),
    isNull(agents.deleted_at),
    sql`${agents.id} = any(${sql.param(wanted)}::uuid[])`,
  );
  return (await tx.select(outlineColumns).from(agents).where(mine)) as AgentOutline[];
}

/** In characters. */
const DESCRIPTION = 500;

/** Some of them, with the beginnings of descriptions: for models, which read all that they are given. */
export async function findAgentOutlines(
  tx: Tx,
  company_id: string,
  query: SearchRequest,
): Promise<Page<AgentOutline & Pick<Agent, 'description'>>> {
  const page = newestFirst(agents.created_at, agents.id, query, 50);
  const description = sql<string | null>`left(${agents.description}, ${DESCRIPTION})`.as('description');
  const rows = tx
    .select({ ...outlineColumns, description, created_at: agents.created_at })
    .from(agents)
    .where(
      and(
        eq(agents.company_id, company_id),
        isNull(agents.deleted_at),
        containing(query.q, wordsOfAgent),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, (row) => row as typeof row & AgentOutline);
}
