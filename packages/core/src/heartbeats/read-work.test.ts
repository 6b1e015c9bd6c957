import { expect, it } from '@jest/globals';
import { createAgent, createCompany, createIssue, databaseWithQueue, pagesRead } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { readWork } from './plan-runs.ts';

it('what an agent could run is read from its own issues alone, also while statistics are from before most of the rows', async () => {
  const database = await databaseWithQueue();
  const { db } = database;
  const company = await createCompany(db);
  const agent = await createAgent(db, company);
  const wake = async (count: number, status: string) =>
    db.execute(sql`
      insert into wakeup_requests (company_id, agent_id, issue_id, reason, status)
      select ${company.id}, ${agent.id}, gen_random_uuid(), 'comment', ${status} from generate_series(1, ${count}::int)`);
  await wake(50, 'pending');
  await wake(50, 'consumed');
  await db.execute(sql`analyze wakeup_requests`);
  await db.execute(sql`analyze issues`);
  await db.execute(sql`delete from wakeup_requests where status = 'pending'`);
  await wake(20_000, 'consumed');
  await db.execute(sql`
    insert into issues (company_id, title, identifier, issue_number, status)
    select ${company.id}, 'Paint', 'P-' || n, 1000 + n, 'todo' from generate_series(1, 20000) n`);
  const issue = await createIssue(db, company, { assignee_agent_id: agent.id, status: 'todo' });
  await db.execute(sql`
    insert into wakeup_requests (company_id, agent_id, issue_id, reason) values (${company.id}, ${agent.id}, ${issue.id}, 'comment')`);
  const read = async () => readWork(db, agent.id, 20);
  expect((await read())?.wakeups.map(({ issue_id }) => issue_id)).toEqual([issue.id]);
  const pages = await pagesRead(database, async (tx) => readWork(tx, agent.id, 20));
  expect(pages).toBeLessThan(200);
});
