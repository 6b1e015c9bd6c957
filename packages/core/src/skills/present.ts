import type { Skill } from '@acp/contract';
import type { schema } from '@acp/db';

export type SkillRow = typeof schema.skills.$inferSelect;

export function presentSkill(row: SkillRow): Skill {
  return {
    id: row.id,
    company_id: row.company_id,
    slug: row.slug,
    name: row.name,
    description: row.description,
    body_markdown: row.body_markdown,
    version: row.version,
    enabled: row.enabled,
    company_wide: row.company_wide,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
