import { MOST_ROWS, readWithinBytes, schema, type Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, asc, eq, isNull, notInArray, sql } from 'drizzle-orm';
import { outlinedSkills, skillOutlines, type SkillOutline, type StoredOutline } from '../skills/index.ts';

const { agents, companies } = schema;

/** The public view of an agent. */
export interface AvailableAgent {
  id: string;
  company_id: string;
  company_name: string;
  name: string;
  role: string;
  title: string | null;
  description: string | null;
  skills: SkillOutline[];
}

/** Maximum number of skills on a card. */
const MAX_SKILLS = 50;

/** Condition on `agents`: it is there for clients. */
export const isAvailable = and(
  eq(agents.externally_available, true),
  notInArray(agents.status, ['pending_approval', 'terminated']),
  isNull(agents.deleted_at),
);

const columns = {
  id: agents.id,
  company_id: agents.company_id,
  name: agents.name,
  role: agents.role,
  title: agents.title,
  description: agents.description,
};

/** Undefined if the agent is not externally available or belongs to another company. */
export async function availableAgent(
  tx: Tx,
  company_id: string,
  agent_id: string,
): Promise<AvailableAgent | undefined> {
  if (!isUuid(agent_id)) return undefined;
  const skills = sql<StoredOutline[]>`${skillOutlines(sql`${agents.id}`, MAX_SKILLS)}`;
  const [row] = await tx
    .select({ ...columns, company_name: companies.name, skills })
    .from(agents)
    .innerJoin(companies, eq(companies.id, agents.company_id))
    .where(
      and(
        eq(agents.id, agent_id),
        eq(agents.company_id, company_id),
        isAvailable,
        isNull(companies.deleted_at),
      ),
    );
  return row && { ...row, skills: outlinedSkills(row.skills) };
}

/**
 * Available agents by name, without their skills; at most 1,000 or 4 MB (decisions 10.7).
 * @returns undefined if the company does not exist
 */
export async function availableAgents(
  tx: Tx,
  company_id: string,
): Promise<{ company_name: string; agents: Omit<AvailableAgent, 'skills'>[] } | undefined> {
  const [company] = await tx
    .select({ name: companies.name })
    .from(companies)
    .where(and(eq(companies.id, company_id), isNull(companies.deleted_at)));
  if (company === undefined) return undefined;
  const listed = tx
    .select(columns)
    .from(agents)
    .where(and(eq(agents.company_id, company_id), isAvailable))
    .orderBy(asc(agents.name), asc(agents.id))
    .limit(MOST_ROWS);
  const { rows } = await readWithinBytes(tx, listed);
  const company_name = company.name;
  return { company_name, agents: rows.map((agent) => ({ ...agent, company_name })) };
}
