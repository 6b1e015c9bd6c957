import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { actors, createAgent, createCompany, createIssue, databaseWithQueue } from '@acp/testkit';
import { requestWakeups } from '../wakeups/index.ts';
import { inboxLite } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

describe('inboxLite', () => {
  it('shows an agent its open issues and pending wakeups, which are consumed by that', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const mine = { assignee_agent_id: agent.id };
    const open = await createIssue(database.db, company, {
      ...mine,
      status: 'in_review',
      body_markdown: 'All of it',
    });
    await createIssue(database.db, company, { ...mine, status: 'done' });
    await createIssue(database.db, company, { ...mine, deleted_at: new Date() });
    await createIssue(database.db, company);
    const request = {
      company_id: company.id,
      agent_id: agent.id,
      issue_id: open.id,
      reason: 'mention',
      payload: { n: 1 },
    } as const;
    await transaction(database, async (tx) => requestWakeups(tx, actors.system, [request]));

    const inbox = await transaction(database, async (tx) => inboxLite(tx, agent));
    expect(inbox.issues.map((issue) => issue.id)).toEqual([open.id]);
    expect(inbox.issues[0]).toMatchObject({ body_markdown: 'All of it' });
    expect(inbox.wakeup_requests).toMatchObject([{ ...request, status: 'consumed' }]);
    expect(await transaction(database, async (tx) => inboxLite(tx, agent))).toMatchObject({
      wakeup_requests: [],
    });
  });

  it('has as many issues as fit into an answer, the most urgent ones', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const body_markdown = 'x'.repeat(3 * 1024 * 1024);
    for (const priority of ['low', 'critical', 'high'])
      await createIssue(database.db, company, { assignee_agent_id: agent.id, priority, body_markdown });
    const { issues } = await transaction(database, async (tx) => inboxLite(tx, agent));
    expect(issues.map(({ priority }) => priority)).toEqual(['critical', 'high']);
  });

  it('keeps still about what lies in the trash, and about what lies below that', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const top = await createIssue(database.db, company, { deleted_at: new Date() });
    const low = await createIssue(database.db, company, { parent_issue_id: top.id });
    const wakeups = [null, top.id, low.id].map((issue_id) => ({
      company_id: company.id,
      agent_id: agent.id,
      issue_id,
      payload: {},
      reason: 'comment' as const,
    }));
    await transaction(database, async (tx) => requestWakeups(tx, actors.system, wakeups));
    const { wakeup_requests } = await transaction(database, async (tx) => inboxLite(tx, agent));
    expect(wakeup_requests.map(({ issue_id }) => issue_id)).toEqual([null]);
  });
});
