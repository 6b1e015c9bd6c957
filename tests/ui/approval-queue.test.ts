/** Approvals decided one after the other, and what a request for more budget leads to. */
import { beforeAll, expect, it } from '@jest/globals';
import { createBudgetPolicy } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, nextInstant } from '@acp/testkit';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
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
  const inbox = async (person: 'member' | 'viewer') =>
    (await Browser.of(app, cast[person]).get(`/companies/${cast.company_id}/inbox`)).text;
  expect(await inbox('member')).toContain('Waiting for your decision');
  expect(await inbox('viewer')).toContain('Waiting for somebody’s decision');
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
