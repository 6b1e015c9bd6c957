import type { Actor, FsSkill } from '@acp/contract';
import { type AgentRow, putFsSkill } from '@acp/core';
import type { PlacedFile } from '@acp/storage';
import type { Held } from '../../http/call.ts';
import type { Services } from '../../http/services.ts';

interface SkillCall {
  actor: Actor;
  subject: AgentRow;
  services: Services;
}

interface Skill {
  slug: string;
  content: string;
}

export interface PlacedSkill extends Held {
  file: PlacedFile;
}

const about = { filename: 'SKILL.md', content_type: 'text/markdown' };

/** Stores the bytes before the row, as for every file. */
export async function storeSkill({ actor, subject, services }: SkillCall, skill: Skill): Promise<FsSkill> {
  return services.files.putBytes(['agents', subject.id], Buffer.from(skill.content), about, async (file) =>
    services.change(subject.company_id, (tx) =>
      putFsSkill(tx, actor, subject, skill, file, { fresh: false }),
    ),
  );
}

/** Stores a new skill's bytes before the row's transaction; `release` removes them if no row keeps them. */
export async function placeSkill(
  { subject, services }: Pick<SkillCall, 'subject' | 'services'>,
  { content }: Skill,
): Promise<PlacedSkill> {
  const file = await services.files.putBytes(
    ['agents', subject.id],
    Buffer.from(content),
    about,
    async (placed) => Promise.resolve(placed),
  );
  return { file, release: async () => services.files.discard([file.storage_key]) };
}
