import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CreateNote } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createCompany, createIssue, createUser, databaseWithQueue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { createComment } from '../comments/index.ts';
import { putDocument, restoreRevision } from '../documents/index.ts';
import { deleteIssue, findIssue, updateIssue } from '../issues/index.ts';
import { archiveNote, createNote, deleteNote, findNote, unarchiveNote, updateNote } from '../notes/index.ts';
import { createWorkProduct } from '../work-products/index.ts';
import { insertVectors } from './vectors.ts';
import { giveUpSource, indexNextSource, knowledgeState, searchKnowledge, SourceNotCut } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function indexAll(): Promise<string[]> {
  const turns: string[] = [];
  for (;;) {
    const company = await transaction(database, async (tx) => indexNextSource(tx, turns.at(-1) ?? null));
    if (company === undefined) return turns;
    turns.push(company);
  }
}

async function setUp() {
  const company = await createCompany(database.db);
  const user = await createUser(database.db);
  const actor = actors.user(user, { [company.id]: 'admin' });
  const act = async <T>(work: (tx: Parameters<Parameters<typeof transaction>[1]>[0]) => Promise<T>) =>
    transaction(database, work);
  const write = async (input: CreateNote) => act(async (tx) => createNote(tx, actor, company.id, input));
  const note = async (id: string) => (await findNote(database.db, id))!;
  const issue = async (id: string) => (await findIssue(database.db, id))!;
  const search = async (question: string) => searchKnowledge(database.db, company.id, { question });
  /** Searches without another run of the scheduler. */
  const now = async (question: string) => (await search(question)).map(({ title }) => title);
  const find = async (question: string) => {
    await indexAll();
    return now(question);
  };
  return { company, actor, act, write, note, issue, search, now, find };
}

describe('what is found', () => {
  it('notes, findings, documents, texts of files and what came of closed issues; each leads to its page', async () => {
    const { company, actor, act, write, issue, search, find } = await setUp();
    const note = await write({ title: 'Backups', body_markdown: 'Zebra tapes lie in the cellar.' });
    await write({ title: 'Seen', body_markdown: 'The zebra script fails on Sundays.', kind: 'finding' });
    const row = await issue((await createIssue(database.db, company)).id);
    await act(async (tx) =>
      putDocument(tx, actor, row, 'plan/a?', { title: 'Plan', body: '# Plan\n\nBuy a zebra.' }),
    );
    const [file] = await database.db
      .insert(schema.attachments)
      .values({
        company_id: company.id,
        issue_id: row.id,
        filename: 'zoo.pdf',
        content_type: 'application/pdf',
        size_bytes: 5,
        storage_key: `test/${row.id}`,
        sha256: 'x',
      })
      .returning();
    await database.db.insert(schema.attachment_texts).values({
      attachment_id: file!.id,
      company_id: company.id,
      status: 'done',
      extracted_text: 'A zebra eats grass.',
    });
    const closed = await createIssue(database.db, company, {
      title: 'Feed the zebra',
      status: 'in_progress',
    });
    await act(async (tx) => updateIssue(tx, actor, await issue(closed.id), { status: 'done' }));
    await act(async (tx) =>
      createComment(tx, actor, await issue(closed.id), { body_markdown: 'It ate hay.' }),
    );
    await act(async (tx) =>
      createWorkProduct(tx, actor, await issue(closed.id), {
        type: 'report',
        title: 'Diet',
        summary: 'Hay and oats.',
      }),
    );
    await find('zebra');
    const found = await search('zebra');
    const pages = found.map(({ source_type, url }) => [source_type, url]);
    expect(pages.toSorted(([a], [b]) => (a! < b! ? -1 : 1))).toEqual([
      ['attachment', `/issues/${row.id}/material`],
      ['document', `/issues/${row.id}/documents/plan%2Fa%3F`],
      ['finding', expect.stringMatching(/^\/notes\//)],
      ['issue', `/issues/${closed.id}`],
      ['note', `/notes/${note.id}`],
    ]);
    for (const { score } of found) expect(score).toBeGreaterThan(0);
    const [outcome] = await search('hay oats');
    expect(outcome?.text).toContain('Hay and oats.\n\n## Outcome\n\nIt ate hay.');
    const left = await searchKnowledge(database.db, company.id, {
      question: 'hay oats',
      except_issue_id: closed.id,
    });
    expect(left).toEqual([]);
  });

  it('by the rare words of a whole question, by beginnings, and by headings nearly so; nothing by nothing', async () => {
    const { write, find } = await setUp();
    for (let n = 0; n < 30; n += 1)
      await write({
        title: `Day ${n}`,
        body_markdown: `What did we do when the office was open? Talk ${n}.`,
      });
    await write({
      title: 'Deployment checklist',
      body_markdown: 'Freeze the schemas, then tag the release.',
    });
    expect((await find('What did we do with the schema when releasing?'))[0]).toBe('Deployment checklist');
    expect(await find('deploymnet')).toEqual(['Deployment checklist']);
    await write({ title: 'Orders', body_markdown: 'Of 20410 and 20411 we know nothing.' });
    await write({ title: 'Returns', body_markdown: 'Order 2041 came back broken.' });
    expect(await find('2041')).toEqual(['Returns']);
    for (const question of ['zzz', '%', "'; drop", '(((', '!!', '& | :*', '\\', '🙂'])
      expect([question, await find(question)]).toEqual([question, []]);
  });

  it('three passages of one source at most, so that others are seen', async () => {
    const { write, find } = await setUp();
    const section = `${'filler text '.repeat(60)} otter.\n\n`;
    await write({ title: 'Long', body_markdown: `# A\n\n${section}`.repeat(12) });
    await write({ title: 'Short', body_markdown: 'One otter.' });
    const found = await find('otter');
    expect(found.filter((title) => title.startsWith('Long'))).toHaveLength(3);
    expect(found).toContain('Short');
  });

  it('beside a long source of which every passage matches better', async () => {
    const { write, find } = await setUp();
    await write({ title: 'Long', body_markdown: `# A\n\n${'otter '.repeat(250)}\n\n`.repeat(80) });
    await write({ title: 'Short', body_markdown: `${'filler text '.repeat(60)} otter.` });
    expect(await find('otter')).toContain('Short');
  });

  it('of the wanted kinds, however much of other kinds matches better', async () => {
    const { company, actor, act, write, find } = await setUp();
    for (let n = 0; n < 70; n += 1) await write({ title: `Otter ${n}`, body_markdown: 'Otter, otter.' });
    const issue = (await findIssue(database.db, (await createIssue(database.db, company)).id))!;
    const body = `${'filler text '.repeat(60)} otter.`;
    await act(async (tx) => putDocument(tx, actor, issue, 'plan', { title: 'Plan', body }));
    await find('otter');
    const query = { question: 'otter', only_types: ['document'] };
    expect(await searchKnowledge(database.db, company.id, query)).toMatchObject([{ title: 'Plan' }]);
    // Nor by what they mean: no word of the question is in any of them.
    const { rows } = await database.db.execute<{ chunk_id: string; title: string }>(
      sql`select id as chunk_id, heading as title from knowledge_chunks where company_id = ${company.id}`,
    );
    const space = '00000000-0000-4000-8000-000000000001';
    const vectors = rows.map(({ chunk_id, title }) => {
      const vector = Float32Array.from(title === 'Plan' ? [0.8, 0.6] : [1, 0]);
      return { chunk_id, vector };
    });
    await insertVectors(database.db, { company_id: company.id, space }, vectors);
    const meant = { ...query, question: 'lontra', vector: { space, vector: Float32Array.from([1, 0]) } };
    expect(await searchKnowledge(database.db, company.id, meant)).toMatchObject([{ title: 'Plan' }]);
  });
});

describe('what is not found any more', () => {
  it('the former text of a note from the moment it changes, and the new one once it is cut', async () => {
    const { actor, act, write, note, now, find } = await setUp();
    const { id } = await write({ title: 'Door', body_markdown: 'The code is walrus.' });
    expect(await find('walrus')).toEqual(['Door']);
    await act(async (tx) => updateNote(tx, actor, await note(id), { body_markdown: 'The code is badger.' }));
    expect([await now('walrus'), await now('badger')]).toEqual([[], []]);
    expect([await find('walrus'), await find('badger')]).toEqual([[], ['Door']]);
  });

  it('an archived or trashed note, until it is brought back', async () => {
    const { actor, act, write, note, now, find } = await setUp();
    const { id } = await write({ title: 'N', body_markdown: 'lemur' });
    expect(await find('lemur')).toEqual(['N']);
    await act(async (tx) => archiveNote(tx, actor, await note(id)));
    expect(await now('lemur')).toEqual([]);
    await act(async (tx) => unarchiveNote(tx, actor, await note(id)));
    expect(await find('lemur')).toEqual(['N']);
    await act(async (tx) => deleteNote(tx, actor, await note(id)));
    expect(await now('lemur')).toEqual([]);
    const left = await database.db
      .select()
      .from(schema.knowledge_sources)
      .where(eq(schema.knowledge_sources.source_id, id));
    expect(left).toEqual([]);
  });

  it('what lies on a trashed issue or below one, an issue that is opened again, and a former revision', async () => {
    const { company, actor, act, issue, now, find } = await setUp();
    const parent = await createIssue(database.db, company);
    const child = await createIssue(database.db, company, {
      parent_issue_id: parent.id,
      status: 'done',
      title: 'Old ibex',
    });
    const write = async (body: string) =>
      act(async (tx) => putDocument(tx, actor, await issue(child.id), 'k', { title: 'D', body }));
    const first = await write('An ibex.');
    await write('A gnu.');
    expect([(await find('ibex')).length, await find('gnu')]).toEqual([1, ['D']]);
    await act(async (tx) => updateIssue(tx, actor, await issue(child.id), { status: 'todo' }));
    expect(await now('ibex')).toEqual([]);
    await act(async (tx) =>
      restoreRevision(tx, actor, await issue(child.id), 'k', first.latest_revision_id!),
    );
    expect([await find('ibex'), await find('gnu')]).toEqual([['D'], []]);
    await act(async (tx) => deleteIssue(tx, actor, await issue(parent.id)));
    expect(await now('ibex')).toEqual([]);
  });

  it('the knowledge of another company', async () => {
    const [ours, theirs] = [await setUp(), await setUp()];
    await theirs.write({ title: 'Secret', body_markdown: 'okapi' });
    expect([await ours.find('okapi'), await theirs.find('okapi')]).toEqual([[], ['Secret']]);
    expect(await ours.find('Secret')).toEqual([]);
  });
});

describe('the cutting of what has changed', () => {
  it('takes companies in turn, whoever wrote more', async () => {
    const [busy, quiet] = [await setUp(), await setUp()];
    for (let n = 0; n < 5; n += 1) await busy.write({ title: `B${n}` });
    await quiet.write({ title: 'Q' });
    const turns = await indexAll();
    expect(turns).toHaveLength(6);
    expect(turns.indexOf(quiet.company.id)).toBeLessThan(2);
  });

  it('keeps the rows of passages that say the same, and counts what is there', async () => {
    const { company, actor, act, write, note, find } = await setUp();
    const section = (word: string) => `# ${word}\n\n${`${word} `.repeat(150)}\n\n`;
    const { id } = await write({ title: 'S', body_markdown: section('alpha') + section('beta') });
    const rows = async () =>
      database.db
        .select()
        .from(schema.knowledge_chunks)
        .where(eq(schema.knowledge_chunks.company_id, company.id))
        .orderBy(schema.knowledge_chunks.ordinal);
    await find('');
    const [, beta] = await rows();
    await act(async (tx) =>
      updateNote(tx, actor, await note(id), { body_markdown: section('beta') + section('gamma') }),
    );
    expect(await knowledgeState(database.db, company.id)).toMatchObject({ sources: 1, waiting: 1 });
    await find('');
    const after = await rows();
    expect(after.map(({ heading }) => heading)).toEqual(['S › beta', 'S › gamma']);
    expect(after[0]?.id).toBe(beta?.id);
    const state = await knowledgeState(database.db, company.id);
    expect(state).toEqual({ sources: 1, passages: 2, waiting: 0, cut: 0, error: null });
  });

  it('gives up a source that can’t be cut, until it changes again', async () => {
    const { company, actor, act, write, note, find } = await setUp();
    const { id } = await write({ title: 'Bad', body_markdown: 'marmot' });
    await database.db.execute(sql`alter table knowledge_chunks add constraint none check (text <> 'marmot')`);
    const failed = await transaction(database, async (tx) => indexNextSource(tx, null)).catch(
      (err: unknown) => err,
    );
    await database.db.execute(sql`alter table knowledge_chunks drop constraint none`);
    expect(failed).toBeInstanceOf(SourceNotCut);
    await act(async (tx) => giveUpSource(tx, (failed as SourceNotCut).source));
    expect(await find('marmot')).toEqual([]);
    expect(await knowledgeState(database.db, company.id)).toMatchObject({ waiting: 0, cut: 1 });
    await act(async (tx) => updateNote(tx, actor, await note(id), { title: 'Good' }));
    expect(await find('marmot')).toEqual(['Good']);
  });
});
