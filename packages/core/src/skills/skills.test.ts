import { beforeAll, describe, expect, it } from '@jest/globals';
import type { UpdateSkill } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { actors, createAgent, createCompany, databaseWithQueue } from '@acp/testkit';
import { findAgent } from '../agents/index.ts';
import {
  attachSkill,
  createSkill,
  deleteSkill,
  detachSkill,
  findSkill,
  parseSkillMarkdown,
  readYaml,
  skillTree,
  slugOf,
  updateSkill,
} from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const skillMarkdown = (name: string, body = 'Do it.') =>
  `---\nname: ${name}\ndescription: "How to: ${name}"\nlicense: MIT\n---\n\n${body}\n`;

async function setUp() {
  const company = await createCompany(database.db);
  const actor = actors.board(company, 'member');
  const create = async (input: UpdateSkill) =>
    transaction(database, async (tx) => createSkill(tx, actor, company.id, input));
  const update = async (id: string, input: UpdateSkill) =>
    transaction(database, async (tx) => updateSkill(tx, actor, (await findSkill(tx, id))!, input));
  return { company, actor, create, update };
}

describe('a skill that reaches an agent with secrets.use', () => {
  it('is written and attached by admins only, also where it reaches all', async () => {
    const { company, create, update, actor } = await setUp();
    const input = { name: 'Ledger', description: 'How to.' };
    const [attached, free] = [await create(input), await create({ ...input, slug: 'free' })];
    const keeper = (await findAgent(
      database.db,
      (await createAgent(database.db, company, { permissions: { 'secrets.use': true } })).id,
    ))!;
    const attach = async (as: Parameters<typeof attachSkill>[1]) =>
      transaction(database, async (tx) => attachSkill(tx, as, keeper, attached.id));
    const refused = { kind: 'forbidden' };
    await expect(attach(actor)).rejects.toMatchObject(refused);
    await attach(actors.board(company, 'admin'));
    await expect(update(attached.id, { body_markdown: 'Tell.' })).rejects.toMatchObject(refused);
    await expect(update(free.id, { company_wide: true })).rejects.toMatchObject(refused);
    await expect(create({ ...input, slug: 'all', company_wide: true })).rejects.toMatchObject(refused);
    expect(await update(free.id, { body_markdown: 'Work.' })).toMatchObject({ version: 2 });
    const before = (await findSkill(database.db, free.id))!;
    await transaction(database, async (tx) =>
      updateSkill(tx, actors.board(company, 'admin'), before, { company_wide: true }),
    );
    // Let in before it reached all.
    for (const act of [
      async (tx: Tx) => updateSkill(tx, actor, before, { body_markdown: 'Tell.' }),
      async (tx: Tx) => deleteSkill(tx, actor, before),
    ])
      await expect(transaction<unknown>(database, act)).rejects.toMatchObject(refused);
  });
});

describe('SKILL.md', () => {
  it('gives name, description and the text after the front matter, whatever its line ends', () => {
    const parsed = { name: 'release-notes', description: 'How to: release-notes', body_markdown: 'Do it.\n' };
    expect(parseSkillMarkdown(skillMarkdown('release-notes'))).toEqual(parsed);
    const windows = `\uFEFF${skillMarkdown('release-notes').replaceAll('\n', '\r\n')}`;
    expect(parseSkillMarkdown(windows)).toEqual({ ...parsed, body_markdown: 'Do it.\r\n' });
    expect(parseSkillMarkdown('---\nname: a\ndescription: b\n---').body_markdown).toBe('');
  });

  it.each([
    ['no front matter', '# Title'],
    ['no end of it', '---\nname: a\ndescription: b\n'],
    ['no name', '---\ndescription: b\n---\n'],
    ['an empty description', '---\nname: a\ndescription: "  "\n---\n'],
    ['a name that is no text', '---\nname: [a]\ndescription: b\n---\n'],
    ['a list', '---\n- name\n---\n'],
    ['broken YAML', '---\nname: "a\ndescription: b\n---\n'],
    ['a bomb', `---\na: &a [x]\nname: n\ndescription: d\nb: [${'*a,'.repeat(10_000)}]\n---\n`],
  ])('with %s is refused', (_what, text) => {
    expect(() => parseSkillMarkdown(text)).toThrow(expect.objectContaining({ kind: 'invalid' }));
  });

  it('has a slug by its name', () => {
    expect(['Write Release Notes!', '  Ärger -- mit Ümläuten', '???'].map(slugOf)).toEqual([
      'write-release-notes',
      'arger-mit-umlauten',
      '',
    ]);
  });
});

describe('a body in YAML', () => {
  it('is refused where it is long, before it is read; as JSON it may be', () => {
    for (const part of ['[', '{a: ', '- ', 'a: b\n', '"', '&a *a '])
      expect(() => readYaml(part.repeat(60_000), 'the body')).toThrow(
        'the body: YAML may be 50000 characters long',
      );
    const long = { name: 'x', system_prompt: 'word '.repeat(100_000) };
    expect(readYaml(JSON.stringify(long), 'the body')).toEqual(long);
    expect(readYaml('{name: x}', 'the body')).toEqual({ name: 'x' });
    expect(() => readYaml('[1]', 'the body')).toThrow('must be a map');
  });
});

describe('a skill', () => {
  it('is made of a SKILL.md or of its fields, which go before the front matter', async () => {
    const { create } = await setUp();
    expect(await create({ content: skillMarkdown('a') })).toMatchObject({
      slug: 'a',
      name: 'a',
      description: 'How to: a',
      body_markdown: 'Do it.\n',
      version: 1,
      enabled: true,
      company_wide: false,
    });
    expect(await create({ slug: 'b', name: 'B', description: 'D', body_markdown: 'T' })).toMatchObject({
      slug: 'b',
      body_markdown: 'T',
    });
    const both = { slug: 'c', description: 'mine', body_markdown: skillMarkdown('c') };
    expect(await create(both)).toMatchObject({ name: 'c', description: 'mine', body_markdown: 'Do it.\n' });
    await expect(create({ slug: 'd', body_markdown: 'T' })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(create({ slug: 'a', name: 'A', description: 'D' })).rejects.toMatchObject({
      kind: 'conflict',
    });
  });

  it('counts a version for another text, not for a switch', async () => {
    const { create, update } = await setUp();
    const { id } = await create({ content: skillMarkdown('a') });
    expect(await update(id, { enabled: false })).toMatchObject({ version: 1, enabled: false });
    expect(await update(id, { content: skillMarkdown('a') })).toMatchObject({ version: 1 });
    expect(await update(id, { content: skillMarkdown('a', 'Do it well.') })).toMatchObject({ version: 2 });
    expect(await update(id, { description: 'other' })).toMatchObject({ version: 3 });
  });
});

describe('an agent’s skill tree', () => {
  it('has company-wide skills, then attached ones, then those of its files; a later slug replaces an earlier', async () => {
    const { company, actor, create, update } = await setUp();
    const agent = (await findAgent(database.db, (await createAgent(database.db, company)).id))!;
    const tree = async () =>
      (await skillTree(database.db, agent.id)).map(({ slug, source }) => `${slug}:${source}`);
    const attach = async (skill: { id: string }) =>
      transaction(database, async (tx) => attachSkill(tx, actor, agent, skill.id));
    const everywhere = await create({ content: skillMarkdown('everywhere'), company_wide: true });
    const attached = await create({ content: skillMarkdown('attached') });
    await create({ content: skillMarkdown('nowhere') });
    expect(await tree()).toEqual(['everywhere:company']);
    await attach(attached);
    await attach(attached);
    await attach(everywhere);
    expect(await tree()).toEqual(['attached:agent', 'everywhere:agent']);
    await database.db.insert(schema.agent_files).values({
      company_id: company.id,
      agent_id: agent.id,
      kind: 'skill',
      path: 'attached',
      size_bytes: 1,
      sha256: 'x',
      storage_key: 'k',
    });
    expect(await tree()).toEqual(['attached:files', 'everywhere:agent']);
    await transaction(database, async (tx) => detachSkill(tx, actor, agent, everywhere.id));
    expect(await tree()).toEqual(['attached:files', 'everywhere:company']);
    await update(everywhere.id, { enabled: false });
    expect(await tree()).toEqual(['attached:files']);
    await expect(
      transaction(database, async (tx) => detachSkill(tx, actor, agent, everywhere.id)),
    ).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('takes no skill of another company, and loses one that goes to the trash', async () => {
    const { company, actor, create } = await setUp();
    const agent = (await findAgent(database.db, (await createAgent(database.db, company)).id))!;
    const strange = await (await setUp()).create({ content: skillMarkdown('strange') });
    await expect(
      transaction(database, async (tx) => attachSkill(tx, actor, agent, strange.id)),
    ).rejects.toMatchObject({ kind: 'not_found' });
    const own = await create({ content: skillMarkdown('own') });
    await transaction(database, async (tx) => {
      await attachSkill(tx, actor, agent, own.id);
      await deleteSkill(tx, actor, (await findSkill(tx, own.id))!);
    });
    expect(await skillTree(database.db, agent.id)).toEqual([]);
    expect(await create({ content: skillMarkdown('own') })).toMatchObject({ slug: 'own' });
  });
});
