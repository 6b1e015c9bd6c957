import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createAgent, createCompany, createIssue, createRunningRun, databaseWithQueue } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { find } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company, { name: 'Ada Lovelace' });
  const titled = await createIssue(database.db, company, { title: 'Bind the books' });
  const written = await createIssue(database.db, company, {
    title: 'Something else',
    body_markdown: 'Ask Ada for linen thread, by the quarterly invoice.',
  });
  const found = async (q: string) =>
    (await find(database.db, company.id, q)).map(({ kind, title, url }) => ({ kind, title, url }));
  return { company, agent, titled, written, found };
}

describe('find', () => {
  it('finds issues by identifier, title and words of the text, and agents by name', async () => {
    const s = await stage();
    const books = { kind: 'issue', title: 'Bind the books', url: `/issues/${s.titled.id}` };
    expect(await s.found('books')).toEqual([books]);
    expect((await s.found(s.titled.identifier.toLowerCase()))[0]).toEqual(books);
    const other = { kind: 'issue', title: 'Something else', url: `/issues/${s.written.id}` };
    expect(await s.found('thread invoi')).toEqual([other]);
    expect(await s.found('ada')).toEqual([
      { kind: 'agent', title: 'Ada Lovelace', url: `/agents/${s.agent.id}` },
      other,
    ]);
    expect([await s.found(''), await s.found('  '), await s.found("& | ! ' :*")]).toEqual([[], [], []]);
  });

  it('finds a text by the words that it has now', async () => {
    const s = await stage();
    const change = async (body_markdown: string | null) =>
      database.db.update(schema.issues).set({ body_markdown }).where(eq(schema.issues.id, s.written.id));
    await change('Order silk instead.');
    expect([(await s.found('linen')).length, (await s.found('silk')).length]).toEqual([0, 1]);
    await change(null);
    expect(await s.found('silk')).toEqual([]);
  });

  it('finds texts of an earlier release before their words have been copied', async () => {
    const s = await stage();
    const { pool } = database;
    await pool.query(`delete from issue_words where issue_id = '${s.written.id}'`);
    expect(await s.found('linen')).toEqual([]);
    await pool.query(`create index issues_text on issues using gin
      (company_id, (to_tsvector('simple', left(coalesce(body_markdown, ''), 100000))))`);
    expect(await s.found('linen')).toHaveLength(1);
    await pool.query('drop index issues_text');
  });

  it('finds the newest run of an issue, and a run by its id, but none that is private', async () => {
    const { company, own, run } = await createRunningRun(database.db);
    const runs = async (q: string) =>
      (await find(database.db, company.id, q)).filter(({ kind }) => kind === 'run');
    const expected = { title: `Run of Ada on ${own.identifier}`, url: `/runs/${run.run_id}` };
    expect(await runs('own work')).toMatchObject([expected]);
    expect(await runs(run.run_id)).toMatchObject([expected]);
    await database.db
      .update(schema.heartbeat_runs)
      .set({ private_to_user_id: run.agent_id })
      .where(eq(schema.heartbeat_runs.id, run.run_id));
    expect([await runs('own work'), await runs(run.run_id)]).toEqual([[], []]);
  });

  it('finds nothing of another company, nor what is in the trash, in four statements', async () => {
    const [s, other] = [await stage(), await stage()];
    await database.db
      .update(schema.issues)
      .set({ deleted_at: new Date() })
      .where(eq(schema.issues.id, other.titled.id));
    expect(await other.found('books')).toEqual([]);
    expect((await s.found('books')).map(({ url }) => url)).toEqual([`/issues/${s.titled.id}`]);
    const before = database.statements();
    await s.found('books');
    expect(database.statements() - before).toBe(4);
  });
});
