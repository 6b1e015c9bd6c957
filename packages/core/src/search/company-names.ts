import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { notTrashed } from '../issues/index.ts';

/** Agents and issues beyond this limit are not linked in texts; no one reads that many. */
const MOST = 2000;

interface CompanyNames {
  /** Ids of agents by lower-case name, with hyphens for spaces. */
  agents: ReadonlyMap<string, string>;
  /** Issues by identifier. */
  issues: ReadonlyMap<string, { id: string; title: string; status: string }>;
}

/** Names that texts may mention: the agents, and the requested issues. One statement. */
export async function companyNames(
  tx: Tx,
  company_id: string,
  identifiers: readonly string[],
): Promise<CompanyNames> {
  const asked = identifiers.slice(0, MOST);
  const numbers = asked.map((identifier) => Number(identifier.slice(identifier.lastIndexOf('-') + 1)));
  const { rows } = await tx.execute<Row>(sql`
    (select 'agent' as kind, a.id, a.name, '' as title, '' as status from agents a
      where a.company_id = ${company_id} and a.deleted_at is null limit ${MOST})
    union all
    (select 'issue', i.id, i.identifier, i.title, i.status from issues i
      where i.company_id = ${company_id} and i.issue_number = any(${sql.param(numbers)}::int[])
        and i.identifier = any(${sql.param(asked)}::text[]) and ${notTrashed('i')})`);
  const of = (kind: Row['kind']): Row[] => rows.filter((row) => row.kind === kind);
  return {
    agents: new Map(of('agent').map(({ name, id }) => [name.toLowerCase().replaceAll(/\s+/g, '-'), id])),
    issues: new Map(of('issue').map(({ name, id, title, status }) => [name, { id, title, status }])),
  };
}

interface Row extends Record<string, unknown> {
  kind: 'agent' | 'issue';
  id: string;
  name: string;
  title: string;
  status: string;
}
