/** What pages say of work that a budget or a person holds. */
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createBudgetPolicy,
  createProject,
  listBudgetIncidents,
  reportCost,
  resolveBudgetIncident,
  findBudgetIncident,
  settleBudgets,
  systemActor,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

const director = systemActor('tests');

let app: Express;
let database: Database;
let cast: Cast;
let issue: string;
let project_id: string;

beforeAll(async () => {
  ({ app, database } = await startPages());
});
beforeEach(async () => {
  cast = await createCast(database);
  const project = await transaction(database, async (tx) =>
    createProject(tx, director, cast.company_id, { name: 'Shed' }),
  );
  project_id = project.id;
  const made = await Browser.of(app, cast.member).api('post', `/api/companies/${cast.company_id}/issues`, {
    title: 'Paint it',
    assignee_agent_id: cast.agent_id,
    project_id,
  });
  issue = `/issues/${made.body.id ?? made.body.issue.id}`;
});

/** A budget that is used up at once. */
async function breach(scope_type: 'agent' | 'project'): Promise<string> {
  await transaction(database, async (tx) => {
    await createBudgetPolicy(tx, director, cast.company_id, {
      scope_type,
      scope_id: scope_type === 'agent' ? cast.agent_id : project_id,
      window: 'month',
      limit_usd: 1,
      action: 'pause',
    });
    await reportCost(tx, director, cast.company_id, {
      agent_id: cast.agent_id,
      project_id,
      provider: 'elsewhere',
      model: 'big',
      cost_usd: 2,
    });
  });
  await transaction(database, async (tx) => settleBudgets(tx, cast.company_id));
  const { items } = await listBudgetIncidents(database.db, cast.company_id, { status: 'open' });
  return items[0]!.id;
}
const read = async (path: string, who: 'viewer' | 'member' = 'member') =>
  (await Browser.of(app, cast[who]).get(path)).text;

describe('an issue', () => {
  it.each(['agent', 'project'] as const)(
    'whose assignee the budget of its %s holds says which, with a link, until it is waived',
    async (scope) => {
      expect(await read(issue)).not.toContain('Nothing starts here');
      const incident = await breach(scope);
      const link = `<a href="/budget-incidents/${incident}">`;
      for (const path of [issue, `${issue}/part/decisions`]) {
        const text = await read(path, 'viewer');
        expect(text).toContain('Nothing starts here');
        expect(text).toContain(link);
      }
      expect(/, paused\s*<\/option>/.test(await read(issue))).toBe(scope === 'agent');
      const refused = await Browser.of(app, cast.member).post(`${issue}/trigger`, {});
      expect(refused.status).toBe(409);
      // In a part that renews itself once the budget is no longer used up, and so do the properties.
      expect(refused.text).toMatch(
        new RegExp(`part/decisions"\\s*>\\s*<p[^>]*role="alert">\\s*Not started: the budget ${link}`),
      );
      expect(refused.text).toMatch(
        /data-live="[^"]*agents budget_incident"[^>]*data-source="[^"]*part\/properties"/,
      );
      await transaction(database, async (tx) => {
        await resolveBudgetIncident(tx, director, (await findBudgetIncident(tx, incident))!);
        await settleBudgets(tx, cast.company_id);
      });
      expect(await read(issue)).not.toContain('Nothing starts here');
    },
  );

  it('whose assignee is paused by hand says so; one that is closed has nothing to say', async () => {
    const member = Browser.of(app, cast.member);
    await member.post(`/agents/${cast.agent_id}/pause`, { reason: '' });
    const text = await read(issue);
    expect(text).toMatch(/Nothing starts here: <a href="\/agents\/[^"]+">[^<]+<\/a> is paused/);
    expect(text).toMatch(/, paused\s*<\/option>/);
    expect(await read(`/companies/${cast.company_id}/issues/new`)).toMatch(/\), paused\s*<\/option>/);
    await member.post(`${issue}/properties`, { status: 'done' });
    expect(await read(issue)).not.toContain('Nothing starts here');
  });
});

it('a chat says why its agent does not answer, before anybody has typed a message, in a part that renews itself', async () => {
  const member = Browser.of(app, cast.member);
  const { agent_id } = cast;
  const chat = (await member.post(`/companies/${cast.company_id}/chats`, { agent_id })).headers.location!;
  const before = await read(chat);
  expect(before).not.toContain('No answers here');
  const [, topics, source] = /data-live="([^"]+)"\s+data-source="(\/chats\/[^"]+)"/.exec(before)!;
  expect(topics!.split(' ')).toEqual([`agent:${agent_id}`, 'budget_incident']);
  expect((await read(source!)).trim()).toBe('');
  await member.post(`/agents/${agent_id}/pause`, { reason: '' });
  expect(await read(chat)).toMatch(/No answers here: <a href="\/agents\/[^"]+">[^<]+<\/a> is paused/);
  expect((await member.post(`${chat}/messages`, { body_markdown: 'Hello' })).status).toBe(409);
  await member.post(`/agents/${agent_id}/resume`, {});
  const incident = await breach('agent');
  for (const path of [chat, source!])
    expect(await read(path)).toContain(
      `No answers here: the budget <a href="/budget-incidents/${incident}">`,
    );
  expect((await Browser.of(app, cast.stranger).get(source!)).status).toBe(404);
});

it('an agent that a budget has paused says which, and so does its refusal to run or resume', async () => {
  const incident = await breach('agent');
  const page = `/agents/${cast.agent_id}`;
  const link = `the budget <a href="/budget-incidents/${incident}">`;
  expect(await read(page, 'viewer')).toContain(`Paused: ${link}`);
  for (const act of ['invoke', 'resume']) {
    const refused = await Browser.of(app, cast.member).post(`${page}/${act}`, {});
    expect(refused.status).toBe(409);
    expect(refused.text).toContain(`Not started: ${link}`);
  }
});
