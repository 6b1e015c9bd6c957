import type { Skill } from '@acp/contract';
import { containing, newestFirst, type Page, schema, type SearchRequest, type Tx } from '@acp/db';
import { isUuid, notFound } from '@acp/kernel';
import { and, eq, getTableColumns, isNull } from 'drizzle-orm';
import { presentSkill, type SkillRow } from './present.ts';

const { companies, skills } = schema;

/** Loads a skill for its scope; also undefined for trashed skills and those of trashed companies. */
export async function findSkill(tx: Tx, id: string): Promise<SkillRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(getTableColumns(skills))
    .from(skills)
    .innerJoin(companies, and(eq(companies.id, skills.company_id), isNull(companies.deleted_at)))
    .where(and(eq(skills.id, id), isNull(skills.deleted_at)));
  return row;
}

export async function listSkills(tx: Tx, company_id: string, query: SearchRequest): Promise<Page<Skill>> {
  const page = newestFirst(skills.created_at, skills.id, query, 50);
  const rows = tx
    .select()
    .from(skills)
    .where(
      and(
        eq(skills.company_id, company_id),
        isNull(skills.deleted_at),
        containing(query.q, [skills.name, skills.slug, skills.description]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, ({ created_at, id }) => ({ at: created_at, id }), presentSkill);
}

/** Finds a skill of the company by slug. @throws notFound */
export async function skillNamed(tx: Tx, company_id: string, slug: string): Promise<SkillRow> {
  const [row] = await tx
    .select()
    .from(skills)
    .where(and(eq(skills.company_id, company_id), eq(skills.slug, slug), isNull(skills.deleted_at)));
  if (row === undefined) throw notFound(`there is no skill ${JSON.stringify(slug.slice(0, 100))}`);
  return row;
}
