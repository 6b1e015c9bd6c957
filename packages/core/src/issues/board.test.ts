import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createCompany, createIssue, databaseWithQueue, pagesRead } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { countBoard, readBoard } from './board.ts';
import { deleteIssue } from './delete-issue.ts';
import { findIssue } from './find-issue.ts';

const { issues } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

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
    await database.db.execute(sql`vacuum analyze issues`);
    expect(await database.db.$count(issues, eq(issues.company_id, company.id))).toBe(3001);
    const pages = await pagesRead(database, async (db) => countBoard(db, company.id, {}));
    expect(pages).toBeLessThan(1000);
  });
});
