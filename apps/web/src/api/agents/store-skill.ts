import type { Actor, FsSkill } from '@acp/contract';
import { type AgentRow, putFsSkill } from '@acp/core';
import type { Services } from '../../http/services.ts';

interface SkillCall {
  actor: Actor;
  subject: AgentRow;
  services: Services;
}

/** The bytes first, as for every file. */
export async function storeSkill(
  { actor, subject, services }: SkillCall,
  skill: { slug: string; content: string },
  fresh: boolean,
): Promise<FsSkill> {
  const about = { filename: 'SKILL.md', content_type: 'text/markdown' };
  return services.files.putBytes(['agents', subject.id], Buffer.from(skill.content), about, async (file) =>
    services.transaction((tx) => putFsSkill(tx, actor, subject, skill, file, { fresh })),
  );
}
