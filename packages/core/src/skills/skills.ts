import type { Actor, CreateSkill, Skill, UpdateSkill } from '@acp/contract';
import { isUniqueViolation, schema, type Tx } from '@acp/db';
import { conflict, forbidden, invalid, notFound } from '@acp/kernel';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { isAbove, isCompanyAdmin } from '../agents/index.ts';
import { moveToTrash } from '../trash/index.ts';
import { presentSkill, type SkillRow } from './present.ts';
import { hasFrontMatter, parseSkillMarkdown, slugOf } from './skill-markdown.ts';

const { skills } = schema;

/**
 * Creates a skill from its fields, or from a complete SKILL.md in `content`; without a slug, one is derived from the name.
 * @throws invalid for a malformed SKILL.md; conflict if the slug is taken; forbidden for instructions that reach an agent with
 * `secrets.use`, unless written by an admin
 */
export async function createSkill(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateSkill,
): Promise<Skill> {
  const { name, description, body_markdown = '', ...text } = textOf(input);
  if (name === undefined) throw invalid('name is required, in the body or in the front matter of content');
  if (description === undefined)
    throw invalid('description is required, in the body or in the front matter of content');
  const slug = text.slug ?? slugOf(name);
  if (slug === '') throw invalid('slug is required if the name has no letter');
  const { enabled, company_wide } = input;
  await assertMayWrite(tx, actor, { company_id, company_wide: company_wide ?? false });
  await assertRoom(tx, 'skills', company_id);
  const values = { company_id, slug, name, description, body_markdown, enabled, company_wide };
  const row = await takingSlug(async () => (await tx.insert(skills).values(values).returning())[0]!);
  await recordChanges(tx, actor, [changeOf(row, 'skill.created')]);
  return presentSkill(row);
}

/** Changes a skill; a different name, description or text creates a new version. @throws like `createSkill` */
export async function updateSkill(
  tx: Tx,
  actor: Actor,
  subject: SkillRow,
  input: UpdateSkill,
): Promise<Skill> {
  const skill = await lockSkill(tx, subject);
  const { enabled, company_wide } = input;
  const set = { ...textOf(input), enabled, company_wide };
  const now = { ...skill, ...defined(set) };
  const isSame = (['name', 'description', 'body_markdown'] as const).every(
    (field) => now[field] === skill[field],
  );
  await assertMayWrite(tx, actor, { ...skill, company_wide: skill.company_wide || company_wide === true });
  const row = await takingSlug(
    async () =>
      (
        await tx
          .update(skills)
          .set({
            ...set,
            version: skill.version + (isSame ? 0 : 1),
            updated_at: sql`now()`,
          })
          .where(eq(skills.id, skill.id))
          .returning()
      )[0]!,
  );
  await recordChanges(tx, actor, [changeOf(row, 'skill.updated', { fields: Object.keys(input) })]);
  return presentSkill(row);
}

/** Moves it to the trash: its slug becomes free, and agents lose it until it is restored. */
export async function deleteSkill(tx: Tx, actor: Actor, subject: SkillRow): Promise<void> {
  const skill = await lockSkill(tx, subject);
  await assertMayWrite(tx, actor, skill);
  const { id, company_id, slug } = skill;
  await tx
    .update(skills)
    .set({ deleted_at: sql`now()`, updated_at: sql`now()` })
    .where(eq(skills.id, id));
  await moveToTrash(tx, actor, { type: 'skill', entity_id: id, company_id, name: slug });
  await recordChanges(tx, actor, [changeOf(skill, 'skill.deleted')]);
}

/** The scope's row may be outdated: who may write the skill depends on whom it reaches now. @throws notFound */
async function lockSkill(tx: Tx, { id }: SkillRow): Promise<SkillRow> {
  const [row] = await tx
    .select()
    .from(skills)
    .where(and(eq(skills.id, id), isNull(skills.deleted_at)))
    .for('no key update');
  if (!row) throw notFound();
  return row;
}

/** Restores it from the trash. @throws conflict if its slug has been taken again */
export async function restoreSkill(tx: Tx, actor: Actor, skill_id: string): Promise<void> {
  const set = { deleted_at: null, updated_at: sql`now()` };
  const row = await takingSlug(
    async () => (await tx.update(skills).set(set).where(eq(skills.id, skill_id)).returning())[0],
  );
  if (!row) throw conflict('the skill is gone');
  await recordChanges(tx, actor, [changeOf(row, 'skill.restored')]);
}

/** Deletes it for good. @returns the deleted ids */
export async function purgeSkill(tx: Tx, skill_id: string): Promise<string[]> {
  await tx.delete(skills).where(eq(skills.id, skill_id));
  return [skill_id];
}

/**
 * Instructions that reach an agent with `secrets.use`, by attachment or because they reach all, are reserved for admins
 * (decisions 10.10); and no agent writes instructions for one with more rights.
 */
async function assertMayWrite(
  tx: Tx,
  actor: Actor,
  skill: { id?: string; company_id: string; company_wide: boolean },
): Promise<void> {
  if (isCompanyAdmin(actor, skill.company_id)) return;
  const secretive = sql`a.permissions @> '{"secrets.use": true}'`;
  const { rows } = await tx.execute<{ secretive: boolean }>(sql`
    select ${secretive} as secretive from agents a
    where a.company_id = ${skill.company_id} and a.deleted_at is null and (${secretive} or ${isAbove(actor)})
      and (${skill.company_wide} or exists (select from agent_skills s
        where s.agent_id = a.id and s.skill_id = ${skill.id ?? null}::uuid))
    order by 1 desc limit 1`);
  if (rows[0]?.secretive) throw forbidden('only admins can change skills of an agent with secrets.use');
  if (rows[0]) throw forbidden('the skill belongs to an agent with more rights than you');
}

type Text = Pick<UpdateSkill, 'slug' | 'name' | 'description' | 'body_markdown'>;

/** Fields in the body take precedence over the front matter. A SKILL.md may also be passed as `body_markdown`. */
function textOf({ slug, name, description, body_markdown, content }: UpdateSkill): Text {
  const whole =
    content ?? (body_markdown !== undefined && hasFrontMatter(body_markdown) ? body_markdown : undefined);
  const fields = defined({ slug, name, description, body_markdown });
  if (whole === undefined) return fields;
  const parsed = parseSkillMarkdown(whole);
  return { ...parsed, ...fields, body_markdown: parsed.body_markdown };
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}

async function takingSlug<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (err) {
    if (isUniqueViolation(err, 'skills_company_slug')) throw conflict('slug is already in use');
    throw err;
  }
}

function changeOf(row: SkillRow, action: string, details: Record<string, unknown> = {}): Change {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'skill',
    entity_id: row.id,
    details: { slug: row.slug, version: row.version, ...details },
  };
}
