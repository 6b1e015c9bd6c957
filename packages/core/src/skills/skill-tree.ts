import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/** One skill that an agent has. */
export interface TreeSkill {
  slug: string;
  source: 'company' | 'agent' | 'files';
  /** Null for a skill of the agent's files: its SKILL.md, in the storage, says it. */
  name: string | null;
  description: string | null;
  body_markdown: string | null;
  /** Where the SKILL.md lies; only for skills of the agent's files. */
  storage_key: string | null;
}

/**
 * An agent's merged skill tree (decisions 3, Skills), by slug: skills of the whole company, then those attached to the
 * agent, then its fs-skills; a later one replaces an earlier one of the same slug. Disabled and trashed ones are left
 * out. One statement.
 */
export async function skillTree(tx: Tx, agent_id: string): Promise<TreeSkill[]> {
  const { rows } = await tx.execute<{ [K in keyof TreeSkill]: TreeSkill[K] }>(sql`
    select distinct on (slug) slug, source, name, description, body_markdown, storage_key
    from (
      select s.slug, 'company' as source, 1 as rank, s.name, s.description, s.body_markdown, null as storage_key
      from agents a join skills s on s.company_id = a.company_id and s.company_wide
      where a.id = ${agent_id} and s.enabled and s.deleted_at is null
      union all
      select s.slug, 'agent', 2, s.name, s.description, s.body_markdown, null
      from agent_skills x join skills s on s.id = x.skill_id
      where x.agent_id = ${agent_id} and s.enabled and s.deleted_at is null
      union all
      select f.path, 'files', 3, null, null, null, f.storage_key
      from agent_files f where f.agent_id = ${agent_id} and f.kind = 'skill'
    ) skill
    order by slug, rank desc`);
  return rows;
}
