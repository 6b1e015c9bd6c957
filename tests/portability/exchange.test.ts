/** Two instances exchange a company. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CompanyBundle, ImportedCompany } from '@acp/contract';
import {
  createCompany,
  createInvite,
  createNote,
  createProject,
  createRepositoryWebhook,
  systemActor,
} from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { createLogger, loadConfig, Vault } from '@acp/kernel';
import { cloneDatabase, databaseWithQueue } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { type Cast, createCast } from '../http/cast.ts';
import { planted, plantCompany } from './planted-company.ts';

interface Instance {
  app: Express;
  database: Database;
  cast: Cast;
}

const keys = { here: '7'.repeat(64), there: '8'.repeat(64) };
let here: Instance;
let there: Instance;
/** The company in the first instance. */
let company_id: string;

async function instance(
  database: Database,
  key: string,
  env: Record<string, string> = {},
): Promise<Instance> {
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_ENCRYPTION_KEY: key, ...env });
  const app = createApp({ database, logger, config, validate_responses: true });
  return { app, database, cast: await createCast(database) };
}

beforeAll(async () => {
  here = await instance(await databaseWithQueue(), keys.here);
  there = await instance((await cloneDatabase('there')).database, keys.there);
  await transaction(here.database, async (tx) => {
    const harbour = { name: 'Harbour Books', slug: 'harbour-books' };
    company_id = (await createCompany(tx, systemActor('tests'), harbour)).id;
    await plantCompany(tx, company_id, new Vault(Buffer.from(keys.here, 'hex'), []));
  });
});

async function exported({ app, cast }: Instance, id: string, include = ['issues']) {
  const answer = await request(app)
    .post(`/api/companies/${id}/export`)
    .set(cast.instance_admin.headers)
    .send({ include });
  expect(answer.status).toBe(200);
  return answer.body as CompanyBundle;
}

async function importInto({ app, cast }: Instance, body: object, who: keyof Cast = 'instance_admin') {
  const { headers } = cast[who] as { headers: Record<string, string> };
  return request(app).post('/api/companies/import').set(headers).send(body);
}

/** The parts of a bundle that another export of the same company also has. */
const lasting = ({ exported_at, manifest, ...bundle }: CompanyBundle) => {
  expect(exported_at).toBeDefined();
  expect(manifest).toBeDefined();
  return bundle;
};

/** Row counts, which show whether anything was created. */
async function rowsOf({ database }: Instance) {
  const { agents, companies, issues, skills } = schema;
  return Promise.all([agents, companies, issues, skills].map((table) => database.db.$count(table)));
}

/** Events of the cast's company, whether or not they have been numbered. */
async function published({ database, cast }: Instance) {
  const of = async (table: typeof schema.outbox | typeof schema.events) =>
    database.db
      .select({ type: table.type, data: table.data })
      .from(table)
      .where(eq(table.company_id, cast.company_id));
  return [...(await of(schema.outbox)), ...(await of(schema.events))];
}

describe('a company on its way from one instance to another', () => {
  it('is the same there: a second export equals the first', async () => {
    const first = await exported(here, company_id);
    const answer = await importInto(there, {
      bundle: first,
      new_company: { name: first.company.name, slug: first.company.slug },
      provider_keys: { models: 'a key of the new place' },
    });
    expect(answer.status).toBe(200);
    const { company_id: copy, created, skipped, warnings } = answer.body as ImportedCompany;
    expect(created).toEqual({
      labels: 1,
      providers: 1,
      skills: 2,
      agents: 3,
      goals: 2,
      projects: 1,
      routines: 1,
      issues: 3,
      notes: 2,
      budget_policies: 3,
    });
    expect(skipped).toEqual([]);
    expect(warnings).toEqual([
      'Heartbeats of the new agents are switched off.',
      '2 schedules and webhooks start switched off.',
      'Signed webhooks have new secrets: rotate them to see them.',
      'Nobody is woken for the imported issues.',
      'Skill House rules is taught to every agent of the company.',
      'Agent Grace may use the company’s secrets.',
      'Agent Grace runs by the adapter docker.',
      'Project Shop runs in its workspaces: npm ci.',
      'Agent Grace is given the secrets API_TOKEN, TOKEN; the company has no API_TOKEN, TOKEN.',
      'Project Shop is given the secrets SHOP_PASSWORD, TOKEN; the company has no SHOP_PASSWORD, TOKEN.',
    ]);
    expect(lasting(await exported(there, copy!))).toEqual(lasting(first));
  });

  it('takes no secret along, wherever one stood, and says what it leaves behind', async () => {
    const bundle = await exported(here, company_id);
    const text = JSON.stringify(bundle);
    for (const value of Object.values(planted))
      expect(text).not.toContain(JSON.stringify(value).slice(1, -1));
    expect(text).not.toContain(company_id);
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/);
    const grace = bundle.agents!.find(({ adapter_type }) => adapter_type === 'docker')!;
    expect(grace.adapter_config).toEqual({
      image: 'agent:1',
      env: { API_TOKEN: '${secret:API_TOKEN}', NODE_ENV: 'production', DEPLOY_KEY: '${secret:TOKEN}' },
    });
    const omitted = Object.fromEntries(bundle.manifest!.omitted!.map(({ what, count }) => [what, count]));
    expect(omitted).toMatchObject({
      secrets: 1,
      'keys and headers of providers': 1,
      'texts in which a secret stood, now [redacted]': 9,
      'runs, transcripts, costs and activity': null,
    });
  });

  it('takes neither an open invite nor the secret of a repository’s webhook along', async () => {
    const director = systemActor('tests');
    const vault = new Vault(Buffer.from(keys.here, 'hex'), []);
    const lighthouse = await transaction(here.database, async (tx) => {
      const { id } = await createCompany(tx, director, { name: 'Lighthouse', slug: 'lighthouse' });
      const project = await createProject(tx, director, id, { name: 'Lamp' });
      const hook = { id: project.id, company_id: id, name: project.name };
      const { secret } = await createRepositoryWebhook(tx, director, hook, vault);
      const { token } = await createInvite(tx, director, id, { role: 'member' }, vault);
      await createNote(tx, director, id, {
        title: 'Setup',
        body_markdown: `Hook ${secret}, join ${token!}.`,
      });
      return { id, secret, token };
    });
    const bundle = JSON.stringify(await exported(here, lighthouse.id));
    expect(bundle).not.toContain(lighthouse.secret);
    expect(bundle).not.toContain(lighthouse.token);
  });

  it('starts nothing: no heartbeat, schedule, webhook or wakeup', async () => {
    const bundle = await exported(here, company_id);
    const imported = await importInto(there, {
      bundle,
      new_company: { name: 'Quiet', slug: 'quiet' },
    });
    const { company_id: copy, warnings } = imported.body as ImportedCompany;
    expect(warnings).toContain('Provider Models has no key and is switched off.');
    const { wakeup_requests: wakeups, agents, providers, routine_triggers } = schema;
    const of = async (table: typeof agents | typeof routine_triggers | typeof providers) =>
      there.database.db.select().from(table).where(eq(table.company_id, copy!));
    const rows = (await of(agents)) as (typeof agents.$inferSelect)[];
    expect(
      rows.map(({ heartbeat_enabled, next_heartbeat_at }) => [heartbeat_enabled, next_heartbeat_at]),
    ).toEqual(rows.map(() => [false, null]));
    const triggers = (await of(routine_triggers)) as (typeof routine_triggers.$inferSelect)[];
    expect(triggers.map(({ enabled, next_fire_at }) => [enabled, next_fire_at])).toEqual([
      [false, null],
      [false, null],
    ]);
    expect(((await of(providers)) as (typeof providers.$inferSelect)[])[0]).toMatchObject({ enabled: false });
    expect(await there.database.db.$count(wakeups)).toBe(0);
  });

  it('merges into a company without doubling what is there, however often', async () => {
    const bundle = await exported(here, company_id);
    const merge = { bundle, company_id: there.cast.company_id };
    const dry = await importInto(there, { ...merge, dry_run: true }, 'admin');
    const before = await rowsOf(there);
    const once = await importInto(there, merge, 'admin');
    expect(once.body).toEqual(dry.body);
    const events = await published(there);
    expect(events.filter(({ type }) => type === 'company_imported')).toEqual([
      { type: 'company_imported', data: { id: merge.company_id, created: once.body.created } },
    ]);
    expect(events.some(({ type }) => type === 'issue_created')).toBe(false);
    const after = await rowsOf(there);
    expect(after).not.toEqual(before);
    const again = await importInto(there, merge, 'board_admin');
    const { created, skipped } = again.body as ImportedCompany;
    expect(Object.values(created).reduce((sum, n) => sum + n, 0)).toBe(0);
    expect(skipped).toHaveLength(19);
    expect(await rowsOf(there)).toEqual(after);
  });

  it('merges a company’s own bundle back without doubling its issues, though some have gone since', async () => {
    const bundle = await exported(here, company_id);
    const [first, ...rest] = await here.database.db
      .select()
      .from(schema.issues)
      .where(eq(schema.issues.company_id, company_id))
      .orderBy(schema.issues.issue_number);
    expect(rest.length).toBeGreaterThan(0);
    await here.database.db.delete(schema.issues).where(eq(schema.issues.id, first!.id));
    const merged = await importInto(here, { bundle, company_id, dry_run: true });
    expect((merged.body as ImportedCompany).created).toMatchObject({ issues: 1 });
    const later = await exported(here, company_id);
    const again = await importInto(here, { bundle: later, company_id, dry_run: true });
    expect((again.body as ImportedCompany).created.issues ?? 0).toBe(0);
  });
});
