import type { Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { parseSkillMarkdown } from './skill-markdown.ts';

/** A skill available to an agent. */
interface TreeSkill {
  slug: string;
  source: 'company' | 'agent' | 'files';
  name: string;
  description: string;
  body_markdown: string;
}

/**
 * An agent's merged skills (decisions 3, Skills), by slug: company-wide skills, then attached ones, then its fs-skills; later
 * ones override earlier ones with the same slug. Disabled and trashed skills are excluded. One statement.
 */
export async function skillTree(tx: Tx, agent_id: string): Promise<TreeSkill[]> {
  const { rows } = await tx.execute<{ [K in keyof StoredSkill]: StoredSkill[K] }>(
    tree(sql`${agent_id}::uuid`),
  );
  return rows.map(treeSkill);
}

/** The agent's skill with that slug; undefined if it has none. */
export async function skillOf(tx: Tx, agent_id: string, slug: string): Promise<TreeSkill | undefined> {
  const { rows } = await tx.execute<{ [K in keyof StoredSkill]: StoredSkill[K] }>(
    tree(sql`${agent_id}::uuid`, sql`where slug = ${slug}`),
  );
  return rows.map(treeSkill)[0];
}

/** Longer than any front matter people write; a skill whose front matter is cut off has no description. */
const FRONT_MATTER = 4000;

/** What a prompt says about the skills, as a JSON array within a larger statement; see `outlinedSkills`. */
export function skillOutlines(agent_id: SQL, limit: number): SQL {
  return sql`coalesce((
    select jsonb_agg(jsonb_build_object('slug', slug, 'name', name, 'description', description,
      'content', left(content, ${FRONT_MATTER})) order by slug)
    from (select * from (${tree(agent_id)}) tree order by slug limit ${limit}) shown), '[]')`;
}

export interface SkillOutline {
  slug: string;
  name: string;
  description: string;
}

/** Converts the value of `skillOutlines` to outlines. */
export function outlinedSkills(rows: readonly StoredOutline[]): SkillOutline[] {
  return rows.map(({ slug, name, description, content }) => {
    if (content === null) return { slug, name, description };
    const { name: title, description: about } = readable(content) ?? { name: slug, description: '' };
    return { slug, name: title, description: about };
  });
}

/** Skills from the agent's files have a SKILL.md instead of the other fields. */
type StoredSkill = TreeSkill & { content: string | null };
export type StoredOutline = SkillOutline & { content: string | null };

function treeSkill({ content, ...skill }: StoredSkill): TreeSkill {
  return content === null ? skill : { ...skill, ...parseSkillMarkdown(content) };
}

function readable(content: string): ReturnType<typeof parseSkillMarkdown> | null {
  try {
    return parseSkillMarkdown(content);
  } catch {
    return null;
  }
}

/** @param agent_id may be a column of the statement around it, so no alias in here may be one that such a statement has */
function tree(agent_id: SQL, only: SQL = sql``): SQL {
  return sql`
    select distinct on (slug) slug, source, name, description, body_markdown, content
    from (
      select s.slug, 'company' as source, 1 as rank, s.name, s.description, s.body_markdown, null as content
      from agents learner join skills s on s.company_id = learner.company_id and s.company_wide
      where learner.id = ${agent_id} and s.enabled and s.deleted_at is null
      union all
      select s.slug, 'agent', 2, s.name, s.description, s.body_markdown, null
      from agent_skills x join skills s on s.id = x.skill_id
      where x.agent_id = ${agent_id} and s.enabled and s.deleted_at is null
      union all
      select f.path, 'files', 3, null, null, null, f.content
      from agent_files f where f.agent_id = ${agent_id} and f.kind = 'skill'
    ) skill
    ${only}
    order by slug, rank desc`;
}
