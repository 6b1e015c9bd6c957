import type { Agent, AgentRole, AgentStatus, OrgNode } from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { type AgentRow, presentAgent, agentColumns } from './present.ts';

const { agents } = schema;

type OrgRoot = OrgNode & { role: AgentRole; status: AgentStatus };

/** The agents that report to this one, newest first; at most 1,000 or 4 MB unless a limit is given (decisions 3). */
export async function directReports(tx: Tx, agent: AgentRow, query: PageRequest): Promise<Page<Agent>> {
  const page = newestFirst(agents.created_at, agents.id, query, null);
  const rows = tx
    .select(agentColumns)
    .from(agents)
    .where(and(eq(agents.reports_to, agent.id), isNull(agents.deleted_at), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentAgent);
}

/** Agents without a manager, each with its reports, by name; without finished sub-agents. One statement. */
export async function orgTree(tx: Tx, company_id: string): Promise<OrgRoot[]> {
  const { id, name, role, title, status, reports_to } = agents;
  const rows = await tx
    .select({ id, name, role, title, status, reports_to })
    .from(agents)
    .where(
      and(
        eq(agents.company_id, company_id),
        isNull(agents.deleted_at),
        sql`(${agents.parent_agent_id} is null or ${agents.status} <> 'terminated')`,
      ),
    )
    .orderBy(asc(name), asc(id));
  const nodes = new Map(rows.map((row) => [row.id, nodeOf(row)]));
  const roots: OrgRoot[] = [];
  for (const row of rows) {
    const above = row.reports_to === null ? undefined : nodes.get(row.reports_to);
    (above?.reports ?? roots).push(nodes.get(row.id)!);
  }
  return roots;
}

function nodeOf(row: Pick<AgentRow, 'id' | 'name' | 'role' | 'title' | 'status'>): OrgRoot {
  const { id, name, title } = row;
  return { id, name, title, role: row.role as AgentRole, status: row.status as AgentStatus, reports: [] };
}
