import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import {
  actors,
  createCompany,
  createIssue,
  databaseWithQueue,
  pagesRead,
  plansOf,
  stepsOf,
  waitFor,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { countBoard, MOST_COUNTED, readBoard } from './board.ts';
import { deleteIssue } from './delete-issue.ts';
import { findIssue } from './find-issue.ts';

const { issues } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

/**
 * Until nearly all rows are marked as visible to all: not those whose commits have not reached the disk, nor any that are younger than a
 * snapshot, such as that of PostgreSQL's own analysis of a table.
 */
async function vacuum(): Promise<void> {
  await transaction(database, async (tx) => {
    await tx.execute(sql`set local synchronous_commit = on`);
    await tx.execute(sql`update companies set name = name`);
  });
  await waitFor(async () => {
    await database.db.execute(sql`vacuum analyze issues`);
    const { rows } = await database.db.execute(
      sql`select from pg_class where oid = 'issues'::regclass and relallvisible > 0.9 * relpages`,
    );
    return rows.length === 1;
  });
}

describe('the counts of a board', () => {
  it('leave out what is in the trash and all below it, with and without a filter', async () => {
    const company = await createCompany(database.db);
    const human = actors.board(company, 'member');
    const child = async (parent: { id: string } | null, status: string, priority = 'medium') =>
      createIssue(database.db, company, { parent_issue_id: parent?.id ?? null, status, priority });
    const gone = await child(null, 'todo');
    await child(await child(gone, 'done'), 'todo', 'high');
    const stays = await child(null, 'todo', 'high');
    await child(stays, 'done');
    await transaction(database, async (tx) => deleteIssue(tx, human, (await findIssue(tx, gone.id))!));
    const byStatus = async (filter: object) =>
      (await countBoard(database.db, company.id, filter)).toSorted((a, b) => (a.status < b.status ? -1 : 1));
    expect(await byStatus({})).toEqual([
      { status: 'done', count: 1 },
      { status: 'todo', count: 1 },
    ]);
    expect(await byStatus({ priority: 'high' })).toEqual([{ status: 'todo', count: 1 }]);
    const columns = await readBoard(database.db, company.id, {});
    expect(columns.map(({ count, cards }) => [count, cards.length]).filter(([count]) => count! > 0)).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it('take no look at the ancestors of each issue', async () => {
    const company = await createCompany(database.db);
    const parent = await createIssue(database.db, company, { status: 'done' });
    await database.db.execute(sql`
      insert into issues (company_id, parent_issue_id, title, identifier, issue_number, status)
      select ${company.id}, ${parent.id}, 'Part', 'P-' || n, 1000 + n, 'done' from generate_series(1, 3000) n`);
    await vacuum();
    expect(await database.db.$count(issues, eq(issues.company_id, company.id))).toBe(3001);
    const pages = await pagesRead(database, async (db) => countBoard(db, company.id, {}));
    expect(pages).toBeLessThan(1000);
  });

  it('end at ten thousand, with and without a filter, and read no column further', async () => {
    const company = await createCompany(database.db);
    const human = actors.board(company, 'member');
    const gone = await createIssue(database.db, company, { status: 'done' });
    const fill = async (status: string, from: number, to: number, parent: string | null = null) =>
      database.db.execute(sql`
        insert into issues (company_id, parent_issue_id, title, identifier, issue_number, status)
        select ${company.id}, ${parent}, 'Part', 'P-' || n, n, ${status} from generate_series(${from}::int, ${to}::int) n`);
    await fill('done', 2001, 2005, gone.id);
    await fill('done', 10_001, 20_000);
    await fill('todo', 20_001, 32_000);
    await transaction(database, async (tx) => deleteIssue(tx, human, (await findIssue(tx, gone.id))!));
    await vacuum();
    const counts = async (filter: object) => {
      const found = await countBoard(database.db, company.id, filter);
      return Object.fromEntries(found.map(({ status, count }) => [status, count]));
    };
    const found = await counts({});
    expect(found).toEqual({ done: MOST_COUNTED, todo: MOST_COUNTED + 1 });
    expect(await counts({ priority: 'medium' })).toEqual(found);
    const plans = await plansOf(database, async (db) => countBoard(db, company.id, {}));
    const read = plans.flatMap(stepsOf).filter((step) => step['Index Name'] === 'issues_company_column');
    const rows = read.reduce((sum, step) => sum + step['Actual Rows'] * step['Actual Loops'], 0);
    expect(Math.round(rows)).toBe(2 * MOST_COUNTED + 6);
    await fill('done', 60_001, 60_001);
    expect(await counts({})).toEqual({ done: MOST_COUNTED + 1, todo: MOST_COUNTED + 1 });
  });
});
