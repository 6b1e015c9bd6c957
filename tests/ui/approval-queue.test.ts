/** Approvals decided one after the other, and what a request for more budget leads to. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createBudgetPolicy } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, nextInstant } from '@acp/testkit';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast, person } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let database: Database;
let cast: Cast;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
});

const ask = async (title: string, type = 'plan', payload: object = {}): Promise<string> => {
  await nextInstant();
  const { body } = await request(app)
    .post(`/api/companies/${cast.company_id}/approvals`)
    .set(cast.agent.headers)
    .send({ type, title, payload })
    .expect(201);
  return `/approvals/${body.id}`;
};
const nextOf = (text: string): string | undefined =>
  /Next: <a href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&#61;', '=');

it('whoever has decided one is offered the next of the list, among those that were searched for', async () => {
  const word = newId().slice(-12);
  const [oldest, other, newest] = [await ask(`${word} 1`), await ask('Another'), await ask(`${word} 2`)];
  const member = Browser.of(app, cast.member);
  const list = await member.get(`/companies/${cast.company_id}/approvals?q=${word}`);
  expect(list.text).toContain(`href="${newest}?q&#61;${word}"`);
  const page = await member.get(`${newest}?q=${word}`);
  expect(nextOf(page.text)).toBeUndefined();
  expect(page.text).toContain(`name="q" value="${word}"`);
  const unexplained = await member.post(`${newest}/reject`, { note: '', q: word });
  expect(unexplained.text).toContain(`name="q" value="${word}"`);
  const decided = await member.post(`${newest}/approve`, { note: '', q: word });
  expect(decided.headers.location).toBe(`${newest}?q=${word}`);
  expect(nextOf((await member.get(decided.headers.location!)).text)).toBe(`${oldest}?q=${word}`);
  expect(nextOf((await member.get(newest)).text)).toBe(other);
  expect(nextOf((await Browser.of(app, cast.viewer).get(newest)).text)).toBeUndefined();
  // One that the reader has put off is not offered; after the last of the list comes its first.
  await member.post(`${other}/snooze`, { minutes: '60' });
  expect(nextOf((await member.get(newest)).text)).toBe(oldest);
  const later = await ask('Later');
  await member.post(`${oldest}/approve`, {});
  expect(nextOf((await member.get(oldest)).text)).toBe(later);
});

it('the inbox calls them the decision of whoever may decide', async () => {
  await ask('Paint the shop');
  const inbox = async (who: 'member' | 'viewer') =>
    (await Browser.of(app, cast[who]).get(`/companies/${cast.company_id}/inbox`)).text;
  expect(await inbox('member')).toContain('Waiting for your decision');
  expect(await inbox('viewer')).toContain('Waiting for somebody’s decision');
});

it('what an agent asks for is shown in a few times its length, however deeply it is nested', async () => {
  let steps: unknown = Array.from({ length: 30_000 }, () => 0);
  for (let level = 0; level < 50; level += 1) steps = [steps];
  const path = await ask('Deep', 'plan', { steps });
  const page = await Browser.of(app, cast.admin).get(path);
  expect(page.status).toBe(200);
  expect(page.text.length).toBeLessThan(300_000);
});

it('a request for more budget leads to the budgets, and to those it is about', async () => {
  const board = actors.board({ id: cast.company_id }, 'admin');
  const policy = await transaction(database, async (tx) =>
    createBudgetPolicy(tx, board, cast.company_id, { scope_type: 'company', window: 'month', limit_usd: 5 }),
  );
  const path = await ask('More, please', 'budget_override', { scope_id: cast.company_id, usd: 10 });
  const seen = (await Browser.of(app, cast.admin).get(path)).text;
  expect(seen).toContain(`href="/companies/${cast.company_id}/budgets">Budgets</a>`);
  expect(seen).toContain(`href="/budget-policies/${policy.id}"`);
  const member = (await Browser.of(app, cast.member).get(path)).text;
  expect(member).toContain(', a month');
  expect(member).not.toContain('/budget-policies/');
});

it('whoever is asked for changes empties the payload by emptying its field, and as a viewer is not offered to ask', async () => {
  const asker = await transaction(database, async (tx) => person(tx, 'member', cast.company_id, 'member'));
  const [browser, admin] = [Browser.of(app, asker), Browser.of(app, cast.admin)];
  const fields = { type: 'plan', title: 'Paint', description: '', payload: '{"colour": "red"}' };
  const path = (await browser.post(`/companies/${cast.company_id}/approvals/new`, fields)).headers.location!;
  await admin.post(`${path}/request-revision`, { note: 'No red' });
  expect((await browser.get(path)).text).toContain('Ask again');
  expect((await browser.post(`${path}/resubmit`, { ...fields, payload: '' })).status).toBe(303);
  expect((await browser.api('get', `/api${path}`)).body).toMatchObject({ status: 'pending', payload: {} });
  await admin.post(`${path}/request-revision`, { note: 'Which then?' });
  await admin.post(`/companies/${cast.company_id}/members/${asker.user_id}/role`, { role: 'viewer' });
  const { text } = await browser.get(path);
  expect(text).toContain('Which then?');
  expect(text).not.toContain('Ask again');
});

describe('in the list, and in the inbox', () => {
  const within = (at: string) => `/companies/${cast.company_id}${at}`;
  /** As the page writes it: which approval, in which version. */
  const choiceOf = (text: string, path: string): string =>
    new RegExp(`name="approval"[^>]*value="(${path.split('/').at(-1)!} [^"]+)"`).exec(text)![1]!;
  const stateOf = async (path: string) => (await Browser.of(app, cast.member).api('get', `/api${path}`)).body;

  it('a row is decided about in the version it shows, and leads back to the list it was in', async () => {
    const word = newId().slice(-12);
    const [plan, hire] = [
      await ask(`${word} plan`),
      await ask(`${word} hire`, 'hire_agent', { name: 'Ada' }),
    ];
    const member = Browser.of(app, cast.member);
    const list = (await member.get(`${within('/approvals')}?q=${word}`)).text;
    expect(list).toContain(`action="${plan}/approve"`);
    // Of many such buttons, each says what it is about.
    expect(list).toContain(`aria-label="Approve: ${word} plan"`);
    // What starts by itself is asked about again.
    expect(list.match(/data-confirm="/g)).toHaveLength(1);
    const [, updated_at] = choiceOf(list, plan).split(' ');
    const decided = await member.post(`${plan}/approve`, { updated_at: updated_at!, from: 'list', q: word });
    const back = `${within('/approvals')}?q=${word}&decided=${plan.split('/').at(-1)!}`;
    expect(decided.headers.location).toBe(back);
    expect((await member.get(back)).text).toContain(`${word} plan: approved`);
    const changed = { updated_at: new Date(0).toISOString(), from: 'inbox', note: 'No' };
    expect((await member.post(`${hire}/reject`, changed)).text).toContain('has changed since it was shown');
    const inbox = (await member.get(within('/inbox'))).text;
    const [, current] = choiceOf(inbox, hire).split(' ');
    const rejected = await member.post(`${hire}/reject`, { ...changed, updated_at: current! });
    expect(rejected.headers.location).toBe(`${within('/inbox')}?decided=${hire.split('/').at(-1)!}`);
    const viewer = Browser.of(app, cast.viewer);
    for (const page of ['/approvals', '/inbox'])
      expect((await viewer.get(within(page))).text).not.toContain('name="approval"');
  });

  it('what was decided is not offered to be sent again if only the page that follows could not be shown', async () => {
    const path = await ask('Decided at once');
    const member = Browser.of(app, cast.member);
    const approval = choiceOf((await member.get(within('/inbox'))).text, path);
    // The inbox lists incidents, a decision does not read them.
    await database.pool.query('alter table budget_incidents rename to away');
    const fields = { decision: 'approved', note: 'Go on, please', approval };
    const answer = await member.post(within('/inbox/decisions'), fields);
    await database.pool.query('alter table away rename to budget_incidents');
    expect(await stateOf(path)).toMatchObject({ status: 'approved' });
    expect(answer.status).toBe(500);
    expect(answer.text).toContain('It was done, but the page that follows could not be shown.');
    expect(answer.text).not.toContain('Go on, please');
  });

  it.each(['/approvals', '/inbox'])('those chosen in %s are decided about together', async (page) => {
    const paths = [await ask('One of three'), await ask('Two of three'), await ask('Three of three')];
    const member = Browser.of(app, cast.member);
    const { text } = await member.get(within(page));
    const approval = paths.map((path) => choiceOf(text, path));
    const decide = async (fields: Record<string, string | string[]>) =>
      member.post(within(`${page}/decisions`), fields);
    expect((await decide({ decision: 'approved', note: '' })).text).toContain('hoose an approval first');
    const unexplained = await decide({ decision: 'rejected', note: '', approval });
    expect(unexplained.text).toContain('ive a reason for the rejection');
    // The choice stays.
    expect(unexplained.text.match(/<input[^>]*name="approval"[^>]*checked[^>]*>/g)).toHaveLength(3);
    await member.post(`${paths[2]!}/request-revision`, { note: 'How much?' });
    const rejected = await decide({ decision: 'rejected', note: 'Not this year', approval });
    expect(rejected.text).toContain('2 approvals rejected.');
    expect(rejected.text).toMatch(/Left as they are:[\s\S]*Three of three<\/a>: /);
    for (const path of paths.slice(0, 2))
      expect(await stateOf(path)).toMatchObject({ status: 'rejected', decision_note: 'Not this year' });
    expect(await stateOf(paths[2]!)).toMatchObject({ status: 'revision_requested' });
    expect((await Browser.of(app, cast.viewer).post(within(`${page}/decisions`), {})).status).toBe(403);
  });
});
