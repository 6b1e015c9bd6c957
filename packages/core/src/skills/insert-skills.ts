import { rowsOf, schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { assertRoom } from '../bounds/index.ts';

const { agent_skills, skills } = schema;

interface NewSkill {
  id: string;
  slug: string;
  name: string;
  description: string;
  body_markdown: string;
  enabled: boolean;
  company_wide: boolean;
}

/** Inserts a list for an admin's import, which has skipped taken slugs. */
export async function insertSkills(tx: Tx, company_id: string, rows: readonly NewSkill[]): Promise<void> {
  if (rows.length === 0) return;
  await assertRoom(tx, 'skills', company_id, rows.length);
  const values = rows.map((row) => ({ ...row, company_id }));
  await tx.execute(sql`insert into skills ${rowsOf(skills, values)}`);
}

export async function insertAgentSkills(
  tx: Tx,
  rows: readonly { agent_id: string; skill_id: string }[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx.execute(sql`insert into agent_skills ${rowsOf(agent_skills, rows)} on conflict do nothing`);
}

/** A sub-agent gets its parent's current attachments; afterwards the two are independent. */
export async function inheritSkills(tx: Tx, parent_id: string, agent_id: string): Promise<void> {
  await tx.execute(sql`
    insert into agent_skills (agent_id, skill_id)
    select ${agent_id}::uuid, skill_id from agent_skills where agent_id = ${parent_id} on conflict do nothing`);
}
