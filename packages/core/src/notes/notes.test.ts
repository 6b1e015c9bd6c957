import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CreateNote, ListNotes } from '@acp/contract';
import { type Database, transaction } from '@acp/db';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  nextInstant,
  plansOf,
  stepsOf,
} from '@acp/testkit';
import { sql } from 'drizzle-orm';
import {
  archiveNote,
  createNote,
  deleteNote,
  findNote,
  listNotes,
  unarchiveNote,
  updateNote,
} from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const user = await createUser(database.db);
  const actor = actors.user(user, { [company.id]: 'member' });
  const write = async (input: CreateNote) =>
    transaction(database, async (tx) => createNote(tx, actor, company.id, input));
  const row = async (id: string) => (await findNote(database.db, id))!;
  const list = async (query: ListNotes = {}) => listNotes(database.db, company.id, query);
  const titles = async (query: ListNotes = {}) => (await list(query)).items.map(({ title }) => title);
  return { company, user, actor, write, row, list, titles };
}

describe('notes', () => {
  it('name their author, a kind, tags once each, and an issue of the company', async () => {
    const { company, user, actor, write } = await setUp();
    const issue = await createIssue(database.db, company);
    const note = await write({ title: 'T', kind: 'finding', tags: ['a', 'b', 'a'], issue_id: issue.id });
    expect(note).toMatchObject({
      kind: 'finding',
      tags: ['a', 'b'],
      issue_id: issue.id,
      body_markdown: '',
      created_by_user_id: user.id,
      created_by_agent_id: null,
    });
    const agent = await createAgent(database.db, company);
    const byAgent = await transaction(database, async (tx) =>
      createNote(tx, actors.agent(agent), company.id, { title: 'T' }),
    );
    expect(byAgent).toMatchObject({ created_by_agent_id: agent.id, created_by_user_id: null, kind: 'note' });
    const strange = await createIssue(database.db, await createCompany(database.db));
    await expect(write({ title: 'T', issue_id: strange.id })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(
      transaction(database, async (tx) =>
        createNote(tx, actor, company.id, { title: 'T', issue_id: strange.id }),
      ),
    ).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('are put aside by archiving and found there alone; again changes nothing', async () => {
    const { actor, write, row, titles } = await setUp();
    const note = await write({ title: 'old' });
    await nextInstant();
    await write({ title: 'new' });
    const archive = async () =>
      transaction(database, async (tx) => archiveNote(tx, actor, await row(note.id)));
    const first = await archive();
    expect(first.archived_at).toBeInstanceOf(Date);
    expect((await archive()).archived_at).toEqual(first.archived_at);
    expect([await titles(), await titles({ archived: true })]).toEqual([['new'], ['old']]);
    await transaction(database, async (tx) => unarchiveNote(tx, actor, await row(note.id)));
    expect(await titles()).toEqual(['new', 'old']);
  });

  it('are listed newest first, page by page, by kind, and not from the trash', async () => {
    const { actor, write, row, list, titles } = await setUp();
    for (const title of ['1', '2', '3']) {
      await write({ title, kind: title === '2' ? 'memory' : 'note' });
      await nextInstant();
    }
    const page = await list({ limit: 2 });
    expect(page.items.map(({ title }) => title)).toEqual(['3', '2']);
    expect(await titles({ limit: 2, cursor: page.next_cursor! })).toEqual(['1']);
    expect(await titles({ kind: 'memory, finding' })).toEqual(['2']);
    await expect(list({ kind: 'poem' })).rejects.toMatchObject({ kind: 'invalid' });
    await transaction(database, async (tx) => deleteNote(tx, actor, await row(page.items[0]!.id)));
    expect(await titles()).toEqual(['2', '1']);
  });

  it('keep what a patch leaves out', async () => {
    const { actor, write, row } = await setUp();
    const note = await write({ title: 'T', body_markdown: 'B', tags: ['a'] });
    const changed = await transaction(database, async (tx) =>
      updateNote(tx, actor, await row(note.id), { title: 'U' }),
    );
    expect(changed).toMatchObject({ title: 'U', body_markdown: 'B', tags: ['a'] });
  });
});

describe('search', () => {
  it('finds words of the text in any order, and titles by parts and with a slip of the pen; best first', async () => {
    const { write, titles } = await setUp();
    await write({ title: 'Deployment checklist', body_markdown: 'Before the release, freeze the schema.' });
    await write({ title: 'Lunch', body_markdown: 'The release train stops at noon; schema of the menu.' });
    await write({ title: 'Holidays', body_markdown: 'nothing here' });
    expect((await titles({ q: 'schema release' })).toSorted()).toEqual(['Deployment checklist', 'Lunch']);
    expect(await titles({ q: 'deploymnet' })).toEqual(['Deployment checklist']);
    expect((await titles({ q: 'lunch' }))[0]).toBe('Lunch');
    expect(await titles({ q: '"freeze the schema"' })).toEqual(['Deployment checklist']);
    expect(await titles({ q: 'release -menu' })).toEqual(['Deployment checklist']);
    expect(await titles({ q: 'zebra' })).toEqual([]);
  });

  it('takes any text for what it is, and pages through its matches without doubles', async () => {
    const { write, list, titles } = await setUp();
    for (let n = 0; n < 5; n += 1) await write({ title: `Report ${n}`, body_markdown: '100% _done_' });
    for (const q of ['%', "'; drop", '(((', '!!', '\\', '&|'])
      expect(Array.isArray(await titles({ q }))).toBe(true);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await list({ q: 'report', limit: 2, cursor });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect([seen.length, new Set(seen).size]).toEqual([5, 5]);
    await expect(list({ q: 'report', cursor: 'nonsense' })).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('rates each match once, on later pages too', async () => {
    const { company, write, list } = await setUp();
    for (let n = 0; n < 3; n += 1) await write({ title: `Report ${n}`, body_markdown: 'text' });
    const query = { q: 'report', limit: 1, cursor: (await list({ q: 'report', limit: 1 })).next_cursor! };
    const [plan] = await plansOf(database, async (db) => listNotes(db, company.id, query));
    expect(stepsOf(plan!).map((step) => step['Subplan Name'])).toContain('CTE found');
  });

  it('finds the parts of addresses, paths and tags, written as in the text or bare', async () => {
    const { write, titles } = await setUp();
    await write({
      title: 'A',
      body_markdown: 'see <b>src/main_loop.ts</b>, mail ada.l@example.com, well-known',
    });
    for (const q of ['src/main_loop.ts', 'main_loop', 'loop', 'ada.l@example.com', 'example', 'well-known'])
      expect([q, await titles({ q })]).toEqual([q, ['A']]);
    expect(await titles({ q: 'well -known' })).toEqual([]);
  });

  it.each(['a_', '~/', '<!--', 'a@', 'http://a.', '&#', '-1e', '\u00e9'])(
    'a text of nothing but %j, or of a million letters of unique words, is stored and searched within seconds',
    async (part) => {
      const { company, actor } = await setUp();
      const unique = Array.from({ length: 120_000 }, (_each, index) => (index + 60_000_000).toString(36));
      await transaction(database, async (tx) => {
        // With PostgreSQL's own word splitting each of these would take minutes or be rejected.
        await tx.execute(sql`set local statement_timeout = '10s'`);
        const bodies = [part.repeat(1_000_000 / part.length), unique.join(` ${part} `).slice(0, 1_000_000)];
        for (const body_markdown of bodies)
          await createNote(tx, actor, company.id, { title: `${part} T`, body_markdown });
        expect((await listNotes(tx, company.id, { q: unique[1]! })).items).toHaveLength(1);
        expect((await listNotes(tx, company.id, { q: part.repeat(500 / part.length) })).items).toBeDefined();
      });
    },
  );
});
