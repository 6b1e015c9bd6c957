import { type Tx, schema } from '@acp/db';
import { invalid } from '@acp/kernel';
import { and, eq, isNotNull, ne, sql } from 'drizzle-orm';
import { type HomeRules, lockCompany } from '../companies/index.ts';
import { assertReferences } from '../trash/index.ts';
import { assertHome } from './agent-home.ts';

export { assertRoom } from '../bounds/index.ts';
export { inheritedModel } from './inherited-model.ts';
export { assertProvider } from '../providers/index.ts';
export type { HomeRules } from '../companies/index.ts';

const { agents } = schema;

/**
 * Takes the company's row lock, which precedes the agent's in the lock order: two concurrent changes of the tree could otherwise
 * create a cycle together that neither creates alone.
 * @throws invalid for an unknown agent, the agent itself, and its direct and indirect reports
 */
export async function assertMayReportTo(
  tx: Tx,
  agent: { id: string; company_id: string },
  manager_id: string,
): Promise<void> {
  await lockCompany(tx, agent.company_id);
  await assertReferences(tx, 'agents', agent.company_id, { reports_to: manager_id }, agent.id);
  const { rows } = await tx.execute<{ circle: boolean }>(sql`
    with recursive above as (
      select id, reports_to from agents where id = ${manager_id}
      union
      select agents.id, agents.reports_to from above join agents on agents.id = above.reports_to
    )
    select exists (select from above where id = ${agent.id}) as circle`);
  if (rows[0]?.circle) throw invalid('reports_to would create a cycle');
}

/** Takes the company's row lock, too: two agents could be given the same folder at once. @throws invalid for a folder outside the company's, or another agent's */
export async function assertCompanyHome(
  tx: Tx,
  agent: { id: string; company_id: string },
  home_dir: string,
  homes: HomeRules | undefined,
): Promise<void> {
  if (!homes) throw invalid('home_dir must be inside a folder of the company');
  const company = await lockCompany(tx, agent.company_id);
  const others = await tx
    .select({ home_dir: agents.home_dir })
    .from(agents)
    .where(and(eq(agents.company_id, company.id), ne(agents.id, agent.id), isNotNull(agents.home_dir)));
  const other_homes = others.map((other) => other.home_dir!);
  const place = { home_dir, company_home_dir: company.home_dir, company, other_homes };
  await assertHome(agent.id, place, homes);
}
