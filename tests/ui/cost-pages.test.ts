/** The contents of the cost and budget pages, and their forms. */
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createProject, createAgent, listBudgetIncidents, reportCost, systemActor } from '@acp/core';
import { newId } from '@acp/kernel';
import { type Database, schema, transaction } from '@acp/db';
import { eq, sql } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

const director = systemActor('tests');

let app: Express;
let database: Database;
let cast: Cast;

beforeAll(async () => {
  ({ app, database } = await startPages());
});
beforeEach(async () => {
  cast = await createCast(database);
});

const at = (section: string) => `/companies/${cast.company_id}/${section}`;
const spend = async (
  cost_usd: number,
  more: { project_id?: string; agent_id?: string; model?: string } = {},
) =>
  transaction(database, async (tx) =>
    reportCost(tx, director, cast.company_id, {
      agent_id: cast.agent_id,
      provider: 'elsewhere',
      model: 'big',
      cost_usd,
      ...more,
    }),
  );
const budget = { limit_usd: '1', window: 'month', warn_percent: '80', at_limit: 'pause', enabled: 'on' };
const setBudget = async (values: Record<string, string> = {}) =>
  Browser.of(app, cast.admin).post(at('budgets'), { ...budget, ...values });
const policies = async () =>
  database.db
    .select()
    .from(schema.budget_policies)
    .where(eq(schema.budget_policies.company_id, cast.company_id));
const incidents = async (status: string) =>
  (await listBudgetIncidents(database.db, cast.company_id, { status })).items;
/** Text without markup and its white space. */
const plain = (text: string) =>
  text.replaceAll(/<title>[^<]*<\/title>|<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

describe('the costs', () => {
  it('are summed up for this month: in all, by day, agent, project and model, exact on hover', async () => {
    const { project, other } = await transaction(database, async (tx) => ({
      project: await createProject(tx, director, cast.company_id, { name: 'Shed' }),
      other: (await createAgent(tx, director, cast.company_id, { name: 'Hopper' })) as { id: string },
    }));
    await spend(1.23456789);
    await spend(0.5, { agent_id: other.id, project_id: project.id, model: 'small' });
    const { text } = await Browser.of(app, cast.viewer).get(at('costs'));
    expect(text).toContain('title="$1.73456789">$1.73<');
    expect(text).toContain(`<a href="/agents/${other.id}">Hopper</a>`);
    expect(text).toContain(`<a href="/projects/${project.id}">Shed</a>`);
    expect(plain(text)).toMatch(/By project .* no project 71 % \$1\.23 .* Shed 29 % \$0\.50/);
    expect(plain(text)).toMatch(/By model .* big 71 % \$1\.23 .* small 29 % \$0\.50/);
    expect(text).toContain(`data-live="runs" data-pace="10000" data-source="${at('costs')}"`);
    const part = await Browser.of(app, cast.viewer).get(at('costs'), { 'HX-Request': 'true' });
    expect(part.text).toMatch(/^\s*<dl class="figures card">/);
    expect((await Browser.of(app, cast.viewer).get(`${at('costs')}?month=2025-01`)).text).not.toContain(
      'data-pace="10000"',
    );
    const today = new Date().toLocaleDateString('en', {
      month: 'short',
      day: 'numeric',
      timeZone: 'UTC',
    });
    expect(text).toMatch(new RegExp(`class="current">\\s*<title>${today}: \\$1\\.73</title>`));
    expect(plain(text)).toMatch(new RegExp(`The days as a table Day Spent Runs ${today} \\$1\\.73`));
  });

  it('lead to each project that is not in the trash, however many the company has', async () => {
    const [first, gone] = await transaction(database, async (tx) => [
      await createProject(tx, director, cast.company_id, { name: 'Shed' }),
      await createProject(tx, director, cast.company_id, { name: 'Barn' }),
    ]);
    for (const { id } of [first, gone]) await spend(1, { project_id: id });
    await database.db.execute(sql`
      insert into projects (id, company_id, name, status, deleted_at)
      select gen_random_uuid(), ${cast.company_id}, 'Later ' || n, 'active', null from generate_series(1, 200) n`);
    await database.db.execute(sql`update projects set deleted_at = now() where id = ${gone.id}`);
    const { text } = await Browser.of(app, cast.viewer).get(at('costs'));
    expect(text).toContain(`<a href="/projects/${first.id}">Shed</a>`);
    expect(text).toContain('Barn');
    expect(text).not.toContain(`/projects/${gone.id}`);
  });

  it('of a month before are a page of their own, with what was spent then only', async () => {
    await spend(1);
    await database.db.insert(schema.cost_events).values({
      company_id: cast.company_id,
      run_id: cast.agent_id,
      provider: 'elsewhere',
      model: 'big',
      input_tokens: 1,
      output_tokens: 1,
      cached_tokens: 0,
      cost_usd: '0.25',
      occurred_at: new Date('2024-02-29T23:59:59Z'),
    });
    const { text } = await Browser.of(app, cast.viewer).get(`${at('costs')}?month=2024-02`);
    expect(plain(text)).toMatch(/February 2024 \$0\.25 Runs/);
    expect(text.match(/class="bar"/g)).toHaveLength(29);
    expect(text).toContain(`${at('costs')}?month=2024-03`);
    const empty = await Browser.of(app, cast.viewer).get(`${at('costs')}?month=2024-01`);
    expect(empty.text).toContain('Nothing was spent in January 2024');
  });

  it('of elsewhere are reported by a member; a wrong figure is refused beside its field', async () => {
    const member = Browser.of(app, cast.member);
    const form = { provider: 'press', model: 'offset', cost_usd: 'much', agent_id: cast.agent_id };
    const refused = await member.post(at('costs/entries'), form);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/id="e-cost_usd" role="alert">Must be a number\./);
    expect(refused.text).toContain('value="offset"');
    const made = await member.post(at('costs/entries'), { ...form, cost_usd: '0.125' });
    expect(made.headers.location).toBe(`${at('costs/entries')}?done=reported`);
    const { text } = await member.get(made.headers.location!);
    expect(plain(text)).toMatch(/reported press offset 0 0 \$0\.13/);
    expect((await Browser.of(app, cast.viewer).get(at('costs/entries'))).text).not.toContain(
      '<form class="card"',
    );
  });
});

describe('a budget', () => {
  it('is set by an admin, shown with what is spent of it, changed and deleted', async () => {
    await spend(0.5);
    const made = await setBudget({ agent_id: cast.agent_id });
    expect(made.headers.location).toBe(`${at('budgets')}?done=created`);
    const admin = Browser.of(app, cast.admin);
    const list = (await admin.get(at('budgets'))).text;
    expect(list).toMatch(/data-level="within_limit"\s+role="img"\s+aria-label="\$0\.50 of \$1\.00 spent"/);
    expect(plain(list)).toMatch(/New budget .* Switched on Create/);
    const [policy] = await policies();
    expect(policy).toMatchObject({ scope_type: 'agent', scope_id: cast.agent_id, action: 'pause' });
    const here = `/budget-policies/${policy!.id}`;
    const empty = await admin.post(here, { ...budget, limit_usd: '', warn_percent: '55' });
    expect(empty.status).toBe(400);
    expect(empty.text).toMatch(/id="e-limit_usd" role="alert">May not be empty\./);
    expect(empty.text).toContain('value="55"');
    expect((await admin.post(here, { ...budget, limit_usd: '5', enabled: '' })).status).toBe(303);
    expect((await policies())[0]).toMatchObject({ limit_usd: '5.00000000', enabled: false });
    expect((await admin.get(at('budgets'))).text).toContain('not counted; limit');
    expect((await admin.post(`${here}/delete`)).headers.location).toBe(`${at('budgets')}?done=deleted`);
    expect(await policies()).toEqual([]);
  });

  it('of an agent is a line of its page, with what it has spent', async () => {
    await setBudget({ agent_id: cast.agent_id, window: 'week', limit_usd: '2' });
    await spend(1.7);
    const { text } = await Browser.of(app, cast.viewer).get(`/agents/${cast.agent_id}`);
    expect(plain(text)).toMatch(/Spent today \$1\.70 This month \$1\.70 Budget a week \$1\.70 of \$2\.00/);
    expect(text).toContain('data-level="nearly_used_up"');
  });

  it.each([
    ['limit_usd', { limit_usd: '-1' }],
    ['limit_usd', { limit_usd: 'a lot' }],
    ['warn_percent', { warn_percent: '101' }],
    ['at_limit', { at_limit: 'explode' }],
    ['agent_id', { agent_id: newId() }],
    ['project_id', { agent_id: newId(), project_id: newId() }],
  ])('that is wrong in %s is refused beside it, and keeps what was typed', async (field, wrong) => {
    const refused = await setBudget({ window: 'week', ...wrong });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(`id="e-${field}" role="alert"`);
    expect(refused.text).toMatch(/<option value="week"\s+selected/);
    expect(await policies()).toEqual([]);
  });

  it('is looked at by a viewer and a member without a button or a form', async () => {
    await setBudget();
    await spend(2);
    const [open] = await incidents('open');
    for (const who of ['viewer', 'member'] as const) {
      for (const path of [at('budgets'), `/budget-incidents/${open!.id}`]) {
        const { status, text } = await Browser.of(app, cast[who]).get(path);
        expect(status).toBe(200);
        expect(text).toContain('data-level="used_up"');
        expect(/<main[\s\S]*<\/main>/.exec(text)![0]).not.toMatch(/<button|<form|budget-policies/);
      }
    }
  });
});

describe('an incident', () => {
  const resolve = async (form: Record<string, string>) => {
    const [open] = await incidents('open');
    return Browser.of(app, cast.admin).post(`/budget-incidents/${open!.id}/resolve`, form);
  };

  it('is led to by dashboard and inbox, and let go on by an admin with a note', async () => {
    await setBudget();
    await spend(2);
    const [open] = await incidents('open');
    const admin = Browser.of(app, cast.admin);
    for (const path of [`/companies/${cast.company_id}`, at('inbox'), at('budgets'), at('activity')])
      expect((await admin.get(path)).text).toContain(`href="/budget-incidents/${open!.id}"`);
    expect((await admin.get(at('inbox'))).text).toMatch(/>Used up: [^<]+, a month</);
    const incident = (await admin.get(`/budget-incidents/${open!.id}`)).text;
    expect(incident).toContain('All agents of the company are paused');
    expect(incident).toMatch(new RegExp(`class="trail"><a href="${at('budgets')}">Budgets</a>`));
    expect(incident).toMatch(/name="limit_usd"[^>]* autofocus/);
    const done = await resolve({ choice: 'waive', limit_usd: '', note: 'the fair is on' });
    expect(done.headers.location).toBe(`${at('budgets')}?done=waived_continues`);
    expect((await admin.get(done.headers.location!)).text).toContain('continues by itself');
    expect((await admin.get(at('budgets'))).text).toContain('data-status="waived"');
    const past = plain((await admin.get(at('budgets/incidents'))).text);
    expect(past).toMatch(/breach \$2\.00 of \$1\.00 .* waived by .*: the fair is on/);
  });

  it('is not waived by a limit that was forgotten, and raised only to more than before', async () => {
    await setBudget();
    await spend(2);
    const forgotten = await resolve({ choice: 'raise', limit_usd: '', note: 'Typed with care.' });
    expect([forgotten.status, forgotten.text.includes('Typed with care.')]).toEqual([400, true]);
    expect(forgotten.text).toMatch(/id="e-limit_usd" role="alert">May not be empty\./);
    const lower = await resolve({ choice: 'raise', limit_usd: '1' });
    expect(lower.text).toMatch(/id="e-limit_usd" role="alert">Must be above the current limit\./);
    expect(await incidents('open')).toHaveLength(1);
    const spent = await resolve({ choice: 'raise', limit_usd: '1.5' });
    expect(spent.headers.location).toBe(`${at('budgets')}?done=raised_spent`);
    expect(await incidents('open')).toHaveLength(1);
    const raised = await resolve({ choice: 'raise', limit_usd: '10' });
    expect(raised.headers.location).toBe(`${at('budgets')}?done=raised_continues`);
    expect(await incidents('open')).toEqual([]);
    expect((await policies())[0]!.limit_usd).toBe('10.00000000');
  });

  it('that somebody else resolved meanwhile says so', async () => {
    await setBudget();
    await spend(2);
    const [open] = await incidents('open');
    await resolve({ choice: 'waive' });
    const late = await Browser.of(app, cast.admin).post(`/budget-incidents/${open!.id}/resolve`, {
      choice: 'waive',
    });
    expect(late.status).toBe(409);
    expect(late.text).toContain('Incident is already resolved.');
  });
});

it('the part of the budgets that renews itself is no whole page, and has no form', async () => {
  await setBudget();
  const path = at('budgets');
  expect((await Browser.of(app, cast.admin).get(path)).text).toMatch(
    new RegExp(`data-live="budget_incident runs"\\s+data-source="${path}"`),
  );
  const headers = { ...cast.admin.headers, 'HX-Request': 'true' };
  const { text } = await request(app).get(path).set(headers).expect(200);
  expect(text).toContain('data-level="within_limit"');
  expect(text).not.toMatch(/<html|<form class="card"/);
});

it('the page of a budget follows what is spent of it', async () => {
  await setBudget();
  const [policy] = await policies();
  const admin = Browser.of(app, cast.admin);
  const part = `/budget-policies/${policy!.id}/part/usage`;
  const page = (await admin.get(`/budget-policies/${policy!.id}`)).text;
  expect(page).toContain(`data-live="budget_incident runs" data-source="${part}"`);
  expect((await admin.get(part)).text).toContain('data-status="within_limit"');
  await spend(2);
  const { text } = await admin.get(part);
  expect(text).toContain('data-status="used_up"');
  expect(text).not.toMatch(/<form|<!doctype/);
});
