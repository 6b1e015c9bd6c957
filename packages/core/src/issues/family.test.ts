import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createAgent, createCompany, createIssue, databaseWithQueue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { inboxReasons } from '../inbox/index.ts';
import { createRelation, findIssue, readFamily } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

it('the relatives of an issue and the reasons in an inbox name no assignee who is in the trash', async () => {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company, { name: 'Ada' });
  const issue = await createIssue(database.db, company);
  const assigned = { assignee_agent_id: agent.id };
  await createIssue(database.db, company, { ...assigned, parent_issue_id: issue.id });
  const related = await createIssue(database.db, company, assigned);
  await transaction(database, async (tx) =>
    createRelation(tx, actors.system, (await findIssue(tx, issue.id))!, { target_issue_id: related.id }),
  );
  const names = async () => {
    const { children, related: others } = await readFamily(database.db, issue.id);
    const reason = (await inboxReasons(database.db, company.id, [related.id])).get(related.id)!;
    return [...children, ...others, reason].map(({ assignee_name }) => assignee_name);
  };
  expect(await names()).toEqual(['Ada', 'Ada', 'Ada']);
  await database.db
    .update(schema.agents)
    .set({ deleted_at: new Date() })
    .where(eq(schema.agents.id, agent.id));
  expect(await names()).toEqual([null, null, null]);
});

it('an issue of many parts lists the first ones, and counts all; of many relations the first ones', async () => {
  const company = await createCompany(database.db);
  const [issue, other] = [await createIssue(database.db, company), await createIssue(database.db, company)];
  await database.db.execute(sql`
    insert into issues (company_id, title, identifier, issue_number, status, parent_issue_id)
    select ${company.id}::uuid, 'Part ' || n, 'PRT-' || n, 1000 + n, case when n % 2 = 0 then 'done' else 'todo' end, ${issue.id}::uuid
    from generate_series(1, 1000) n`);
  await database.db.execute(sql`
    insert into issue_relations (company_id, source_issue_id, target_issue_id, relation_type)
    select company_id, ${other.id}::uuid, id, 'related' from issues where parent_issue_id = ${issue.id}`);
  const { children, parts } = await readFamily(database.db, issue.id);
  expect([children.length, children[0]?.title, parts]).toEqual([200, 'Part 1', { all: 1000, ended: 500 }]);
  expect((await readFamily(database.db, other.id)).related).toHaveLength(200);
});
