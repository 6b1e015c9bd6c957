import { beforeEach, describe, expect, it } from '@jest/globals';
import { cloneDatabase, createCompany, createIssue, waitFor } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { copyBatch } from './copy-issue-words.ts';
import { copyIssueWords, type Database, transaction } from './index.ts';

const never = new AbortController().signal;
const FIRST = '00000000-0000-0000-0000-000000000000';
let database: Database;
let company: { id: string };
beforeEach(async () => {
  database = (await cloneDatabase('issue_words')).database;
  company = await createCompany(database.db);
});

const run = async (text: string) => (await database.pool.query<Record<string, string>>(text)).rows;
const described = async (body_markdown: string | null) =>
  createIssue(database.db, company, { body_markdown });
const words = async () =>
  new Map(
    (await run('select issue_id, words::text from issue_words')).map((row) => [row.issue_id, row.words]),
  );
const hasIndex = async () => (await run(`select where to_regclass('issues_text') is not null`)).length === 1;

/** Issues as earlier releases left them. */
async function asBefore(bodies: readonly (string | null)[]): Promise<{ id: string }[]> {
  await run(`create index issues_text on issues using gin (company_id, (to_tsvector('simple', left(coalesce(body_markdown, ''), 100000))));
    alter table issues disable trigger user`);
  const issues: { id: string }[] = [];
  for (const body of bodies) issues.push(await described(body));
  await run('alter table issues enable trigger user');
  return issues;
}

describe('the words of descriptions', () => {
  it('are those of the present text, whoever writes it, and go with their issue', async () => {
    const [issue, other] = [await described('Linen thread'), await described(null)];
    expect(await words()).toEqual(new Map([[issue.id, "'linen':1 'thread':2"]]));
    await run(`update issues set body_markdown = 'Silk' where id in ('${issue.id}', '${other.id}')`);
    expect((await words()).get(issue.id)).toBe("'silk':1");
    expect((await words()).get(other.id)).toBe("'silk':1");
    await run(`update issues set body_markdown = null where id = '${issue.id}'`);
    expect((await words()).get(issue.id)).toBe('');
    await run('delete from issues');
    expect((await words()).size).toBe(0);
  });

  it('are letters and digits alone: on other characters PostgreSQL’s parser takes the square of their number', async () => {
    const body = 'a_b ~/c <!--d-e http://f.example/g';
    const [before] = await asBefore([body]);
    const issue = await described(body);
    const plain = ['a', 'b', 'c', 'd', 'e', 'example', 'f', 'g', 'http'];
    await copyIssueWords(database, never);
    for (const { id } of [before!, issue])
      expect((await words()).get(id)?.match(/'[^']*'/g)).toEqual(plain.map((word) => `'${word}'`));
    // Beyond the size of a tsvector, were it indexed as a whole.
    const many = Array.from({ length: 120_000 }, (_, index) => `word${index}`).join(' ');
    const long = await described(many);
    expect((await words()).get(long.id)).toContain("'word9'");
  });

  it('are not written when a status changes', async () => {
    const issue = await described('Linen thread');
    const version = async () => run(`select xmin from issue_words where issue_id = '${issue.id}'`);
    const before = await version();
    await run(`update issues set status = 'in_review' where id = '${issue.id}'`);
    expect(await version()).toEqual(before);
  });
});

describe('copyIssueWords', () => {
  it('copies what is older than the table, then drops the index', async () => {
    const [linen, , empty, silk] = await asBefore(['Linen', null, '', 'Silk']);
    const wool = await described('Wool');
    await copyIssueWords(database, never);
    expect(await words()).toEqual(
      new Map([
        [linen!.id, "'linen':1"],
        [silk!.id, "'silk':1"],
        [wool.id, "'wool':1"],
      ]),
    );
    expect((await words()).has(empty!.id)).toBe(false);
    expect(await hasIndex()).toBe(false);
  });

  it('continues after an interruption, and overwrites nothing that has changed meanwhile', async () => {
    const issues = await asBefore(['one', 'two', 'three']);
    const [first, second] = issues.map(({ id }) => id).toSorted();
    const ended = await transaction(database, async (tx) => copyBatch(tx, FIRST, 2));
    expect(ended).toEqual({ last: second, skipped: false });
    expect((await words()).size).toBe(2);
    await run(`update issues set body_markdown = null where id = '${first}'`);
    await copyIssueWords(database, AbortSignal.abort());
    expect(await hasIndex()).toBe(true);
    await copyIssueWords(database, never);
    expect((await words()).get(first)).toBe('');
    expect((await words()).size).toBe(3);
    expect(await hasIndex()).toBe(false);
  });

  it('looks again at issues that were being deleted when it came by', async () => {
    const [issue] = await asBefore(['one', 'two']);
    const deleting = await database.pool.connect();
    await deleting.query('begin');
    await deleting.query(`delete from issues where id = '${issue!.id}'`);
    const copying = copyIssueWords(database, never);
    await waitFor(async () => (await words()).size === 1);
    await deleting.query('rollback');
    deleting.release();
    await copying;
    expect((await words()).get(issue!.id)).toBe("'one':1");
    expect(await hasIndex()).toBe(false);
  });

  it('leaves it to another process that is copying', async () => {
    await asBefore(['one']);
    await transaction(database, async (tx) => {
      await copyBatch(tx, FIRST, 1);
      await copyIssueWords(database, never);
      expect(await hasIndex()).toBe(true);
      await tx.execute(sql`select 1`);
    });
    await copyIssueWords(database, never);
    expect(await hasIndex()).toBe(false);
  });
});
