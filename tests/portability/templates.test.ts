/** The ready-made companies of examples/companies, through the pages that offer them and through the API. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CompanyBundle, CompanyTemplate, ImportedCompany } from '@acp/contract';
import { companyTemplate, listTemplates, parseSkillMarkdown } from '@acp/core';
import { type Database, schema } from '@acp/db';
import { repositoryRoot } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

const folder = join(repositoryRoot, 'examples/companies');
const slugs = ['newsroom', 'software-team', 'support-desk'];

let app: Express;
let database: Database;
let cast: Cast;
beforeAll(async () => {
  ({ app, database } = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) }));
  cast = await createCast(database);
});

it('are three, and the folder holds nothing else', async () => {
  expect((await listTemplates(folder)).map(({ slug }) => slug)).toEqual(slugs);
  expect(await readdir(folder)).toHaveLength(slugs.length);
});

it('say beside their own form what is wrong with the name of a new company, and take a slug for it', async () => {
  const browser = Browser.of(app, cast.instance_admin);
  const sent = { import: 'on', template: 'newsroom', name: 'Обзор' };
  const { status, text } = await browser.post('/companies/import', sent);
  expect(status).toBe(400);
  expect(text).toMatch(/id="e-slug-newsroom" role="alert">/);
  expect(text).not.toContain('e-bundle-slug');
  expect(text.match(/value="Обзор"/g)).toHaveLength(1);
  const founded = await browser.post('/companies/import', { ...sent, slug: 'obzor' });
  expect(founded.headers.location).toMatch(/\?done=imported$/);
  const taken = await browser.post('/companies/import', { ...sent, slug: 'obzor' });
  expect([taken.status, /id="e-slug-newsroom"/.test(taken.text)]).toEqual([409, true]);
  expect(taken.text.match(/value="obzor"/g)).toHaveLength(1);
});

describe.each(slugs)('%s', (slug) => {
  it('names no provider and no model: it uses the company’s own', async () => {
    const { providers, agents = [] } = await companyTemplate(folder, slug);
    expect(providers).toBeUndefined();
    for (const agent of agents) {
      expect([agent.provider_label, agent.model, agent.adapter_type]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      expect(agent.permissions).toBeUndefined();
    }
  });

  it('has prompts, skills, goals, routines and a budget that hang together', async () => {
    const bundle = await companyTemplate(folder, slug);
    const { agents = [], skills = [], routines = [], goals = [], budget_policies = [] } = bundle;
    expect(agents.every(({ system_prompt }) => (system_prompt ?? '').length > 400)).toBe(true);
    expect(agents.filter(({ reports_to }) => !reports_to)).toHaveLength(1);
    const used = new Set(agents.flatMap((agent) => agent.skills ?? []));
    for (const { slug: skill, company_wide, name, description, body_markdown } of skills) {
      expect([skill, company_wide === true || used.has(skill)]).toEqual([skill, true]);
      const text = `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n${body_markdown}`;
      expect(parseSkillMarkdown(text).body_markdown).toBe(body_markdown);
    }
    expect(goals.length).toBeGreaterThan(1);
    expect(routines.every(({ assignee, body_template }) => assignee && body_template)).toBe(true);
    expect(budget_policies).toMatchObject([{ scope_type: 'company', action: 'pause' }]);
  });

  it('is founded by a click of an instance admin, and exported again as it is', async () => {
    const browser = Browser.of(app, cast.instance_admin);
    const list = await browser.get('/companies');
    expect(list.text).toContain(`name="template" value="${slug}"`);
    const name = `My ${slug}`;
    const founded = await browser.post('/companies/import', { import: 'on', template: slug, name });
    const [, id] = /^\/companies\/([^?]+)\?done=imported$/.exec(founded.headers.location!)!;
    expect((await browser.get(founded.headers.location!)).text).toContain('The company has been created.');
    const { agents, routine_triggers } = schema;
    const staff = await database.db.select().from(agents).where(eq(agents.company_id, id!));
    expect(staff.map(({ status, heartbeat_enabled }) => [status, heartbeat_enabled])).toEqual(
      staff.map(() => ['idle', false]),
    );
    const triggers = await database.db
      .select()
      .from(routine_triggers)
      .where(eq(routine_triggers.company_id, id!));
    expect(triggers.some(({ enabled }) => enabled)).toBe(false);
    const bundle = (await browser.api('get', `/api/companies/${id}/export`)).body as CompanyBundle;
    const template = await companyTemplate(folder, slug);
    const prompts = (of: CompanyBundle) =>
      of.agents?.map(({ name: who, system_prompt }) => [who, system_prompt]);
    expect(prompts(bundle)).toEqual(prompts(template));
    expect(bundle.skills?.map((skill) => skill.body_markdown)).toEqual(
      template.skills?.map((skill) => skill.body_markdown),
    );
  });
});

describe('the page Export and import', () => {
  const base = () => `/companies/${cast.company_id}`;

  it('previews a team, adds it, and then has nothing to add', async () => {
    const admin = Browser.of(app, cast.admin);
    expect((await admin.get(`${base()}/settings`)).text).toContain(`${base()}/portability`);
    const team = { template: 'support-desk' };
    const add = { ...team, act: 'import' };
    const before = await database.db.$count(schema.agents);
    const preview = await admin.post(`${base()}/import`, team);
    expect(preview.text).toContain('This would be created');
    expect(preview.text).toContain('Heartbeats of the new agents are switched off.');
    expect(await database.db.$count(schema.agents)).toBe(before);
    expect((await admin.post(`${base()}/import`, add)).text).toContain('This was created');
    const again = await admin.post(`${base()}/import`, add);
    expect(again.text).toContain('Nothing: the company already has all of it.');
  });

  it('tells the place of a fault, and gives no key back', async () => {
    const admin = Browser.of(app, cast.admin);
    const secret = 'a-key-that-nobody-sees';
    const refused = await admin.post(`${base()}/import`, {
      template: 'newsroom',
      provider_keys: `Models = ${secret}`,
    });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(': The bundle has no provider called models');
    expect(refused.text).not.toContain(secret);
  });

  it('offers the file to download; members get neither page nor file', async () => {
    const file = await Browser.of(app, cast.admin).get(`/api${base()}/export?include=issues`);
    expect(file.headers['content-disposition']).toMatch(/^attachment; filename="[a-z0-9-]+\.json"$/);
    expect(file.body).toMatchObject({ format: 'company-bundle', issues: [] });
    const member = Browser.of(app, cast.member);
    expect((await member.get(`${base()}/portability`)).status).toBe(403);
    expect((await member.get(`/api${base()}/export`)).status).toBe(403);
    expect((await member.post(`${base()}/import`, { template: 'newsroom' })).status).toBe(403);
  });

  it('of another company is not there', async () => {
    const there = `/companies/${cast.other_company_id}/import`;
    expect((await Browser.of(app, cast.admin).post(there, { template: 'newsroom' })).status).toBe(404);
  });
});

it('the first steps of a company without agents offer the teams, and hire one', async () => {
  const admin = Browser.of(app, cast.instance_admin);
  const made = await admin.api('post', '/api/companies', { name: 'Empty', slug: 'empty' });
  const { id } = made.body as { id: string };
  const provider = { name: 'M', adapter_type: 'family_chat_a', default_model: 'm', is_default: true };
  await admin.api('post', `/api/companies/${id}/providers`, { ...provider, api_key: 'key' });
  expect((await admin.get(`/companies/${id}`)).text).toContain('Or a ready-made team');
  const hired = await admin.post(`/companies/${id}/first-team`, { template: 'software-team' });
  expect((await admin.get(hired.headers.location!)).text).toContain('The team is here.');
  expect(await database.db.$count(schema.agents, eq(schema.agents.company_id, id))).toBe(4);
});

it('the API lists them to everybody who is signed in', async () => {
  const list = await Browser.of(app, cast.viewer).api('get', '/api/company-templates');
  expect((list.body as CompanyTemplate[]).map(({ slug }) => slug)).toEqual(slugs);
  const dry = await Browser.of(app, cast.instance_admin).api('post', '/api/companies/import', {
    template: 'newsroom',
    new_company: { name: 'Dry', slug: 'dry' },
    dry_run: true,
  });
  expect((dry.body as ImportedCompany).created).toMatchObject({ agents: 4, skills: 5, routines: 3 });
});

describe('a bundle as a new company', () => {
  const bundle = {
    format: 'company-bundle',
    version: 1,
    company: { name: 'Elsewhere' },
    providers: [{ label: 'models', adapter_type: 'family_chat_a', default_model: 'm' }],
    agents: [{ slug: 'ada', name: 'Ada', role: 'engineer', permissions: { 'secrets.use': true } }],
  };
  const send = async (act: string, name: string) =>
    request(app)
      .post('/companies/import')
      .set({ ...cast.instance_admin.headers, 'Sec-Fetch-Site': 'same-origin' })
      .field('import', 'on')
      .field('name', name)
      .field('act', act)
      .attach('bundle', Buffer.from(JSON.stringify(bundle)), 'bundle.json');
  const named = async (name: string) => database.db.$count(schema.companies, eq(schema.companies.name, name));

  it('is previewed without making it', async () => {
    const preview = await send('preview', 'Previewed');
    expect(preview.status).toBe(200);
    expect(preview.text).toMatch(/id="founding-outcome"[^]*This would be created[^]*switched off/);
    expect(await named('Previewed')).toBe(0);
  });

  it('says what was created and what to know, and leads to the company', async () => {
    const made = await send('import', 'Imported');
    expect(made.status).toBe(200);
    expect(await named('Imported')).toBe(1);
    expect(made.text).toContain('This was created');
    expect(made.text).toContain('Agent Ada may use the company’s secrets.');
    expect(made.text).toContain('Provider models has no key and is switched off.');
    const [, path] = /<a class="button" href="(\/companies\/[^"]+)"/.exec(made.text)!;
    expect((await Browser.of(app, cast.instance_admin).get(path!)).status).toBe(200);
  });
});
