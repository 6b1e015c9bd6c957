import type { Skill } from '@acp/contract';
import { byCreation, containing, newestFirst, type Page, schema, type SearchRequest, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { and, eq, isNull } from 'drizzle-orm';
import { findInLiveCompany } from '../companies/index.ts';
import { presentSkill, type SkillRow } from './present.ts';

const { skills } = schema;

/** Loads a skill for its scope; also undefined for trashed skills and those of trashed companies. */
export async function findSkill(tx: Tx, id: string): Promise<SkillRow | undefined> {
  return findInLiveCompany(tx, skills, id, isNull(skills.deleted_at));
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
  return page.read(tx, rows, byCreation, presentSkill);
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
