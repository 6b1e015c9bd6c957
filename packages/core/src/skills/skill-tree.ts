import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { parseSkillMarkdown } from './skill-markdown.ts';

/** One skill that an agent has. */
export interface TreeSkill {
  slug: string;
  source: 'company' | 'agent' | 'files';
  name: string;
  description: string;
  body_markdown: string;
}

/**
 * An agent's merged skill tree (decisions 3, Skills), by slug: skills of the whole company, then those attached to the
 * agent, then its fs-skills; a later one replaces an earlier one of the same slug. Disabled and trashed ones are left
 * out. One statement.
 */
export async function skillTree(tx: Tx, agent_id: string): Promise<TreeSkill[]> {
  const { rows } = await tx.execute<{ [K in keyof StoredSkill]: StoredSkill[K] }>(sql`
    select distinct on (slug) slug, source, name, description, body_markdown, content
    from (
      select s.slug, 'company' as source, 1 as rank, s.name, s.description, s.body_markdown, null as content
      from agents a join skills s on s.company_id = a.company_id and s.company_wide
      where a.id = ${agent_id} and s.enabled and s.deleted_at is null
      union all
      select s.slug, 'agent', 2, s.name, s.description, s.body_markdown, null
      from agent_skills x join skills s on s.id = x.skill_id
      where x.agent_id = ${agent_id} and s.enabled and s.deleted_at is null
      union all
      select f.path, 'files', 3, null, null, null, f.content
      from agent_files f where f.agent_id = ${agent_id} and f.kind = 'skill'
    ) skill
    order by slug, rank desc`);
  return rows.map(({ content, ...skill }) =>
    content === null ? skill : { ...skill, ...parseSkillMarkdown(content) },
  );
}

/** Skills of the agent's files have a SKILL.md in the place of the rest. */
type StoredSkill = TreeSkill & { content: string | null };
