/** What a new company is led through on its dashboard, and what it is told afterwards. */
import { beforeAll, expect, it } from '@jest/globals';
import { createIssue, systemActor } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { pageForms } from '../http/page-forms.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let cast: Cast;
let database: Database;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
});

const director = systemActor('tests');
const finish = async (title: string): Promise<unknown> =>
  transaction(database, async (tx) =>
    createIssue(tx, director, cast.company_id, { title, status: 'done', assignee_agent_id: cast.agent_id }),
  );

it('whoever connects the first model stays in the first steps until it is chosen', async () => {
  const admin = Browser.of(app, cast.admin);
  const base = `/companies/${cast.company_id}`;
  const sent = { vendor: 'own', base_url: 'http://127.0.0.1:9/v1', api_key: '' };
  const path = (await admin.post(`${base}/connect-model`, sent)).headers.location!;
  const { text } = await admin.get(path);
  expect(text).toMatch(/<h2>First steps<\/h2>[\s\S]*aria-current="step"[^>]*>\s*Connect a model/);
  await admin.post(path, { default_model: 'm' });
  expect((await admin.get(path)).text).not.toContain('First steps');
});

it('the first issue that is done is told of, with what to do next; the second ends that, and so does a day', async () => {
  const base = `/companies/${cast.company_id}`;
  const told = async (who = cast.admin) => (await Browser.of(app, who).get(base)).text;
  expect(await told()).not.toContain('The first issue is done');
  await finish('Bind the books');
  expect(await told()).toMatch(
    /The first issue is done[\s\S]*Bind the books<\/a>[\s\S]*Limit what they may spend/,
  );
  expect(await told(cast.member)).not.toContain('Limit what they may spend');
  expect(await told(cast.viewer)).not.toContain('The first issue is done');
  await database.pool.query(
    `update issues set updated_at = now() - interval '25 hours' where company_id = $1`,
    [cast.company_id],
  );
  expect(await told()).not.toContain('The first issue is done');
  await database.pool.query('update issues set updated_at = now() where company_id = $1', [cast.company_id]);
  await finish('Order paper');
  expect(await told()).not.toContain('The first issue is done');
});

it('a second provider of a vendor is asked for another name, since the first has the vendor’s', async () => {
  const admin = Browser.of(app, cast.admin);
  const path = `/companies/${cast.company_id}/connect-model`;
  const sent = { vendor: 'own', base_url: 'http://127.0.0.1:10/v1', api_key: '' };
  expect((await admin.get(path)).text).not.toContain('name="name"');
  expect((await admin.post(path, sent)).status).toBe(303);
  const refused = await admin.post(path, sent);
  expect(refused.status).toBe(409);
  const form = pageForms(refused.text).find(({ action }) => action === path)!;
  expect(form.values).toMatchObject({ name: ['127.0.0.1:10'], base_url: [sent.base_url] });
  expect(refused.text).toMatch(/id="e-name"[^>]*>A provider already has this name\.</);
  const made = await admin.post(path, { ...form.values, name: 'Spare' });
  expect((await admin.get(made.headers.location!)).text).toContain('<h1>Connect Spare</h1>');
});
