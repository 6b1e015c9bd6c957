/** @in-order the members of one company, of whom some are removed */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import { newId } from '@acp/kernel';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let database: Database;
let cast: Cast;
let base: string;

beforeAll(async () => {
  ({ app, database } = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) }));
  cast = await createCast(database);
  base = `/companies/${cast.company_id}`;
});

/** The error message of a field, or '' if there is none. */
const errorOf = (text: string, field: string): string =>
  new RegExp(`id="e-${field}" role="alert">([^<]*)`).exec(text)?.[1] ?? '';

describe('an admin of a company', () => {
  it('invites by a link that is shown once, and takes it back', async () => {
    const admin = Browser.of(app, cast.admin);
    const made = await admin.post(`${base}/members/invites`, { role: 'viewer', expires_in_hours: '5' });
    const link = /<code>[^<]*(\/invites\/[\w-]{43})<\/code>/.exec(made.text)![1]!;
    const list = await admin.get(`${base}/members/invites`);
    expect(list.text).not.toContain(link);
    expect((await new Browser(app).get(link)).text).toContain('You are invited with the role viewer.');
    const revoke = /action="([^"]+\/revoke)"/.exec(list.text)![1]!;
    const gone = await admin.post(revoke);
    expect((await admin.get(gone.headers.location!)).text).toContain('The invite has been revoked');
    expect((await new Browser(app).get(link)).status).toBe(404);
  });

  it('is told beside the field that an invite needs an hour at least', async () => {
    const refused = await Browser.of(app, cast.admin).post(`${base}/members/invites`, {
      role: 'member',
      expires_in_hours: '0',
    });
    expect(refused.status).toBe(400);
    expect(errorOf(refused.text, 'expires_in_hours')).toBe('Must be 1 or more.');
    expect(refused.text).toContain('value="0"');
  });

  it('approves a request to join; a second decision is refused in words', async () => {
    const stranger = Browser.of(app, cast.stranger);
    const ask = async (company_id: string) =>
      stranger.post('/join-requests', { company_id, message: 'May I?' });
    expect(errorOf((await ask(newId())).text, 'company_id')).toBe('Unknown company.');
    expect(errorOf((await ask(cast.other_company_id)).text, 'company_id')).toBe('Already a member.');
    expect((await ask(cast.company_id)).headers.location).toBe('/companies?done=asked');
    const admin = Browser.of(app, cast.admin);
    const { text } = await admin.get(`${base}/members/requests`);
    expect(text).toContain('May I?');
    const resolve = /action="(\/join-requests\/[^"]+)"/.exec(text)![1]!;
    const approve = () => admin.post(resolve, { status: 'approved' });
    expect((await approve()).headers.location).toBe(`${base}/members/requests?done=approved`);
    const again = await approve();
    expect(again.status).toBe(409);
    expect(again.text).toContain('The request is already resolved.');
  });

  it('changes a role and removes the member, whose e-mail other members do not see', async () => {
    const admin = Browser.of(app, cast.admin);
    const path = `${base}/members/${cast.stranger.user_id}`;
    expect((await admin.post(`${path}/role`, { role: 'viewer' })).status).toBe(303);
    expect((await admin.get(`${base}/members`)).text).toContain('@');
    expect((await Browser.of(app, cast.member).get(`${base}/members`)).text).not.toMatch(/<td[^>]*>[^<]*@/);
    expect((await admin.post(`${path}/remove`)).headers.location).toBe(`${base}/members?done=removed`);
    expect((await admin.post(`${path}/remove`)).status).toBe(404);
  });

  it('mints a key for an integration that is shown once and works until it is revoked', async () => {
    const admin = Browser.of(app, cast.admin);
    const minted = await admin.post(`${base}/members/keys`, { role: 'viewer', label: 'Bot' });
    const key = /sk_[0-9a-f]{64}/.exec(minted.text)![0];
    const call = () => request(app).get(`/api${base}/issues`).set('Authorization', `Bearer ${key}`);
    await call().expect(200);
    const list = await admin.get(`${base}/members/keys`);
    expect(list.text).not.toContain(key);
    const revoke = /action="([^"]+\/revoke)"/.exec(list.text)![1]!;
    expect((await admin.post(revoke)).status).toBe(303);
    await call().expect(401);
  });

  it('changes name, tags and what new agents start with; a taken slug is told beside its field', async () => {
    const admin = Browser.of(app, cast.admin);
    const slug = `renamed-${newId()}`;
    const form = { name: 'Renamed', slug, home_dir: '', default_worker_tags: 'gpu, linux,' };
    expect((await admin.post(`${base}/settings`, form)).headers.location).toBe(
      `${base}/settings?done=general`,
    );
    const { body } = await request(app)
      .get(base)
      .set({ ...cast.admin.headers, Accept: 'application/json' });
    expect(body).toMatchObject({ name: 'Renamed', slug, default_worker_tags: ['gpu', 'linux'] });

    const other = newId();
    await Browser.of(app, cast.instance_admin).post('/companies', { name: 'Other', slug: other });
    const taken = await admin.post(`${base}/settings`, { ...form, name: 'Typed', slug: other });
    expect(taken.status).toBe(409);
    expect(errorOf(taken.text, 'slug')).toBe('Is already in use.');
    expect(taken.text).toContain('value="Typed"');

    const agents = {
      adapter_type: 'llm',
      adapter_config: '{"full_context":true}',
      heartbeat_interval_sec: '60',
    };
    expect((await admin.post(`${base}/settings/agents`, agents)).status).toBe(303);
    expect((await admin.api('get', `/api${base}/agent-defaults`)).body).toMatchObject({
      adapter_config: { full_context: true },
      heartbeat_interval_sec: 60,
    });
  });

  it('sets a logo by a form with a file; what is no image, or too large, is told beside the field', async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
      'base64',
    );
    const send = (bytes: Buffer) =>
      request(app)
        .post(`${base}/logo`)
        .set({ ...cast.admin.headers, 'Sec-Fetch-Site': 'same-origin' })
        .field('theme', 'dark')
        .attach('file', bytes, { filename: 'logo.png', contentType: 'image/png' });
    await send(png).expect(303);
    const admin = Browser.of(app, cast.admin);
    expect((await admin.get(`${base}/settings`)).text).toContain(`/api${base}/logo/image?v=`);
    expect((await admin.get(`/api${base}/logo/image`)).body).toEqual(png);
    expect((await send(Buffer.from('no image')).expect(415)).text).toContain('The file is no image/png.');
    expect((await send(Buffer.alloc(1_000_001)).expect(413)).text).toContain('Too large: 1 MB at most.');
    expect((await admin.post(`${base}/logo/delete`)).status).toBe(303);
    expect((await admin.get(`/api${base}/logo`)).status).toBe(404);
  });

  it('stores a secret whose value no page ever holds, and deletes it', async () => {
    const admin = Browser.of(app, cast.admin);
    const value = `value-${newId()}`;
    const secret = { name: 'PAGE_KEY', value, description: 'Of a page' };
    const stored = await admin.post(`${base}/secrets`, secret);
    const list = await admin.get(stored.headers.location!);
    expect(list.text).toContain('The secret is stored.');
    const path = /href="(\/secrets\/[^"]+)"/.exec(list.text)![1]!;
    const twice = await admin.post(`${base}/secrets`, secret);
    expect([twice.status, errorOf(twice.text, 'name')]).toEqual([409, 'A secret already has this name.']);
    const changed = await admin.post(path, { value: `${value}-2`, description: '' });
    const one = await admin.get(changed.headers.location!);
    expect(one.text).toMatch(/<dt>Version<\/dt>\s*<dd>2<\/dd>/);
    for (const { text } of [list, twice, one]) expect(text).not.toContain(value);
    expect((await admin.post(`${path}/delete`)).status).toBe(303);
    expect((await admin.get(path)).status).toBe(404);
  });

  it('adds a provider whose key no page ever holds, mends it, and deletes it', async () => {
    const admin = Browser.of(app, cast.admin);
    const key = `key-${newId()}`;
    const form = { name: 'Ours', adapter_type: 'family_compat', base_url: '', api_key: key, enabled: 'on' };
    const refused = await admin.post(`${base}/providers`, form);
    expect(refused.status).toBe(400);
    expect(errorOf(refused.text, 'base_url')).toBe('Is required for family_compat.');
    const added = await admin.post(`${base}/providers`, { ...form, base_url: 'http://127.0.0.1:9/v1' });
    const path = added.headers.location!.split('?')[0]!;
    const twice = await admin.post(`${base}/providers`, { ...form, base_url: 'http://127.0.0.1:9/v1' });
    expect([twice.status, errorOf(twice.text, 'name')]).toEqual([409, 'A provider already has this name.']);
    await admin.post(path, {
      ...form,
      name: 'Mended',
      base_url: 'http://127.0.0.1:9/v1',
      api_key: '',
      enabled: '',
    });
    const { body } = await admin.api('get', `/api${path}`);
    expect(body).toMatchObject({ name: 'Mended', enabled: false, has_api_key: true });
    for (const { text } of [refused, twice, await admin.get(path)]) expect(text).not.toContain(key);
    expect((await admin.post(`${path}/delete`)).headers.location).toBe(`${base}/providers?done=deleted`);
    expect((await admin.get(path)).status).toBe(404);
  });

  it('gives an agent a provider; a refused change keeps what was typed', async () => {
    const admin = Browser.of(app, cast.admin);
    const provider = { name: `P ${newId()}`, adapter_type: 'family_chat_a' };
    const { body } = await admin.api('post', `/api${base}/providers`, provider);
    const path = `/agents/${cast.agent_id}`;
    const form = { name: 'Typed', adapter_config: '{}', provider_id: body.id, heartbeat_interval_sec: '0' };
    const refused = await admin.post(`${path}/edit`, form);
    expect([refused.status, errorOf(refused.text, 'heartbeat_interval_sec')]).toEqual([
      400,
      'Must be 1 or more.',
    ]);
    expect(refused.text).toContain('value="Typed"');
    const saved = await admin.post(`${path}/edit`, { ...form, heartbeat_interval_sec: '60' });
    expect((await admin.get(saved.headers.location!)).text).toMatch(
      new RegExp(`value="${body.id}"\\s+selected`),
    );
    const member = await Browser.of(app, cast.member).get(`${path}/settings`);
    expect(member.text).toContain('name="model"');
    expect(member.text).not.toContain(provider.name);
    expect((await admin.post(`/providers/${body.id}/delete`)).status).toBe(409);
    await admin.post(`${path}/edit`, { ...form, provider_id: '', heartbeat_interval_sec: '60' });
    expect((await admin.post(`/providers/${body.id}/delete`)).status).toBe(303);
  });

  it('deletes the company by typing its slug alone; an instance admin takes it out of the trash', async () => {
    const boss = Browser.of(app, cast.instance_admin);
    const slug = `doomed-${newId()}`;
    const path = (await boss.post('/companies', { name: 'Doomed', slug })).headers.location!;
    const refused = await boss.post(`${path}/delete`, { slug: 'doomed' });
    expect([refused.status, errorOf(refused.text, 'confirm-slug')]).toEqual([
      400,
      `Type ${slug} to delete the company.`,
    ]);
    expect((await boss.post(`${path}/delete`, { slug })).status).toBe(303);
    expect((await boss.get(path)).status).toBe(404);
    const trash = await boss.get('/admin/trash?type=company');
    const id = path.split('/').at(-1)!;
    const restore = new RegExp(`action="(/admin/trash/company/${id}/[^"]+/restore)"`).exec(trash.text)![1]!;
    expect((await boss.post(restore)).headers.location).toBe('/admin/trash?done=restored');
    expect((await boss.get(path)).status).toBe(200);
  });
});

describe('approvals', () => {
  const asked = async (payload: object, type = 'hire_agent') => {
    const { body } = await request(app)
      .post(`/api${base}/approvals`)
      .set(cast.agent.headers)
      .send({ type, title: `A wish <b>${newId()}</b>`, description: '**Why** not?', payload })
      .expect(201);
    return `/approvals/${body.id}`;
  };

  it('a member reads what is asked for, comments, and rejects it with a note', async () => {
    const path = await asked({
      name: 'Edith',
      role: 'qa',
      system_prompt: 'Read.\n<script>alert(1)</script>',
    });
    const member = Browser.of(app, cast.member);
    const { text } = await member.get(path);
    expect(text).toContain('<strong>Why</strong>');
    expect(text).toContain('<dt>system prompt</dt>');
    expect(text).not.toContain('<script>alert');
    expect((await member.get(`${base}/approvals`)).text).toContain(path);
    expect((await member.post(`${path}/comments`, { body_markdown: 'Too *soon*.' })).status).toBe(303);
    const unexplained = await member.post(`${path}/reject`, { note: ' ' });
    expect([unexplained.status, unexplained.text]).toEqual([
      400,
      expect.stringContaining('Give a reason for the rejection'),
    ]);
    expect((await member.get(`${path}/part/state`)).text).toContain('Approving hires the agent “Edith”');
    expect((await member.post(`${path}/reject`, { note: 'Next year.' })).status).toBe(303);
    const after = await member.get(path);
    expect(after.text).toContain('<em>soon</em>');
    expect(after.text).toContain('Next year.');
    expect(after.text).toMatch(/part\/state[\s\S]*<em>soon/);
    expect(after.text).not.toContain(`formaction="${path}/reject"`);
    const late = await member.post(`${path}/approve`, { note: 'After all.' });
    expect(late.status).toBe(409);
    expect(late.text).toContain('Approval is resolved already.');
    expect(late.text).toMatch(/<textarea[^>]* name="body_markdown"[^>]*>\s*After all\.<\/textarea>/);
    expect(late.text).not.toContain('What you sent');
    expect((await member.get(`${base}/approvals?status=rejected`)).text).toContain(path);
  });

  it('a viewer reads it and is offered no decision; the number that waits stands in the navigation', async () => {
    const path = await asked({}, 'plan');
    const viewer = Browser.of(app, cast.viewer);
    const { text } = await viewer.get(path);
    expect(text).not.toContain(`${path}/approve`);
    const waiting = await viewer.get(`${base}/approvals/part/pending`);
    expect(Number(waiting.text)).toBeGreaterThan(0);
    expect(text).toContain(`part/pending">${waiting.text}</span>`);
    expect((await viewer.post(`${path}/approve`)).status).toBe(403);
    expect((await viewer.get(base)).text).toContain(`href="${path}"`);
  });

  it('whoever asked asks again after a request for changes', async () => {
    const member = Browser.of(app, cast.member);
    const form = { type: 'plan', title: 'A plan', description: '', payload: '{"budget": 12}' };
    const bad = await member.post(`${base}/approvals/new`, { ...form, payload: '{' });
    expect([bad.status, errorOf(bad.text, 'payload')]).toEqual([400, 'Is not valid JSON.']);
    const path = (await member.post(`${base}/approvals/new`, form)).headers.location!;
    await Browser.of(app, cast.admin).post(`${path}/request-revision`, { note: 'Cheaper?' });
    expect((await member.get(path)).text).toContain(`action="${path}/resubmit"`);
    const again = { ...form, title: 'A cheaper plan', payload: '{"budget": 6}' };
    expect((await member.post(`${path}/resubmit`, again)).status).toBe(303);
    expect((await member.get(path)).text).toMatch(/A cheaper plan[\s\S]*data-status="pending"/);
    const late = await member.post(`${path}/resubmit`, { ...again, title: 'The cheapest plan' });
    expect(late.status).toBe(409);
    expect(late.text).toMatch(
      /role="alert"[\s\S]*What you sent[\s\S]*The cheapest plan[\s\S]*<h2>What is asked for/,
    );
  });
});

it('the page that connects a model is there before the provider has answered, and says where no scheduler asks', async () => {
  const admin = Browser.of(app, cast.admin);
  const sent = { vendor: 'own', base_url: 'http://127.0.0.1:9/v1', api_key: '' };
  const path = (await admin.post(`${base}/connect-model`, sent)).headers.location!;
  const { text } = await admin.get(path);
  expect(text).toContain(`data-source="${path}/part/model"`);
  expect(text).not.toContain('name="default_model"');
  const answer = (await admin.get(`${path}/part/model`)).text;
  expect(answer).toMatch(/No scheduler answered[\s\S]*name="default_model"/);
  expect((await admin.get(`${path}?answer=1`)).text).toContain('name="default_model"');

  // The address is corrected where it failed; the name follows the host, and what was wrong stays to be mended.
  expect(answer).toMatch(/127\.0\.0\.1:9 could not be asked[\s\S]*name="by_host"[\s\S]*Try again/);
  const fixed = await admin.post(`${path}/endpoint`, { by_host: 'yes', base_url: 'http://127.0.0.1:10/v1' });
  expect(fixed.headers.location).toBe(path);
  expect((await admin.get(path)).text).toContain('Connect 127.0.0.1:10');
  const wrong = await admin.post(`${path}/endpoint`, { by_host: 'yes', base_url: '10.0.0.1' });
  expect(wrong.status).toBe(400);
  expect(wrong.text).toMatch(/value="10\.0\.0\.1"[\s\S]*id="e-base_url"/);
  // A dashboard without a model leads to what was left halfway.
  expect((await admin.get(base)).text).toContain(`href="${path}"`);
});

it('a viewer finds an unread issue in the inbox, reads it, and takes that back', async () => {
  const viewer = Browser.of(app, cast.viewer);
  const title = `News ${newId()}`;
  const { body } = await Browser.of(app, cast.member).api('post', `/api${base}/issues`, { title });
  const inbox = async () => (await viewer.get(`${base}/inbox`)).text;
  expect(await inbox()).toContain(title);
  const marked = await viewer.post(`/issues/${body.id}/read`);
  expect((await viewer.get(marked.headers.location!)).text).toContain(`action="/issues/${body.id}/unread"`);
  expect(await inbox()).not.toContain(title);
});

it('a viewer puts an issue off, is told who said what, and brings it back', async () => {
  const viewer = Browser.of(app, cast.viewer);
  const member = Browser.of(app, cast.member);
  const title = `Later ${newId()}`;
  const { body } = await member.api('post', `/api${base}/issues`, { title });
  await member.api('post', `/api/issues/${body.id}/comments`, { body_markdown: 'Is *this* urgent?' });
  const inbox = async () => (await viewer.get(`${base}/inbox`)).text;
  expect(await inbox()).toContain(': Is this urgent?');
  const off = await viewer.post(`/issues/${body.id}/snooze`, { minutes: '60' });
  const text = (await viewer.get(off.headers.location!)).text;
  expect(text).toMatch(/is snoozed\./);
  expect(text).toMatch(new RegExp(`Snoozed[\\s\\S]*${title}[\\s\\S]*Bring back`));
  expect((await viewer.post(`/issues/${body.id}/snooze`, { minutes: '0' })).status).toBe(400);
  await viewer.post(`/issues/${body.id}/unread`);
  expect(await inbox()).toMatch(new RegExp(`Unread[\\s\\S]*${title}`));
  await viewer.post(`${base}/inbox/read`);
  expect(await inbox()).not.toContain(title);
});

it('a viewer puts an approval off from its page, and another still sees it waiting', async () => {
  const viewer = Browser.of(app, cast.viewer);
  const other = Browser.of(app, cast.member);
  const title = `Plan ${newId()}`;
  const { body } = await other.api('post', `/api${base}/approvals`, { type: 'plan', title });
  const path = `/approvals/${body.id}`;
  expect((await viewer.get(path)).text).toContain(`action="${path}/snooze"`);
  const pending = async (of: Browser) => Number((await of.get(`${base}/approvals/part/pending`)).text);
  const before = [await pending(viewer), await pending(other)];
  const off = await viewer.post(`${path}/snooze`, { minutes: '240' });
  const text = (await viewer.get(off.headers.location!)).text;
  expect(text).toContain(`“${title}” is snoozed.`);
  expect(text).toMatch(new RegExp(`<h2>Snoozed[\\s\\S]*${title}[\\s\\S]*Bring back`));
  expect([await pending(viewer), await pending(other)]).toEqual([before[0]! - 1, before[1]]);
  expect((await viewer.get(path)).text).toContain('Snoozed: back in your inbox');
  const list = `${base}/approvals`;
  expect((await viewer.get(list)).text).toMatch(new RegExp(`${title}[\\s\\S]*snoozed,`));
  expect((await other.get(list)).text).not.toContain('snoozed,');
  await viewer.post(`${path}/unsnooze`);
  expect(await pending(viewer)).toBe(before[0]);
  expect((await Browser.of(app, cast.stranger).post(`${path}/snooze`, { minutes: '60' })).status).toBe(404);
});

it('the page of an issue says which decisions it waits for, until they are made', async () => {
  const member = Browser.of(app, cast.member);
  const { body: issue } = await member.api('post', `/api${base}/issues`, { title: `Letter ${newId()}` });
  const title = `Send it ${newId()}`;
  const asked = { type: 'action', title, issue_id: issue.id as string };
  const { body } = await member.api('post', `/api${base}/approvals`, asked);
  const page = async () => (await member.get(`/issues/${issue.id}`)).text;
  expect(await page()).toMatch(new RegExp(`Waiting for a decision[\\s\\S]*/approvals/${body.id}">${title}`));
  const part = `/issues/${issue.id}/part/decisions`;
  expect((await member.get(part)).text).toContain(title);
  expect((await Browser.of(app, cast.stranger).get(part)).status).toBe(404);
  await member.post(`/approvals/${body.id}/approve`, { note: '' });
  expect(await page()).not.toContain('Waiting for a decision');
});

describe('an instance admin', () => {
  it('sets and clears a setting, stops all runs and lets them start again', async () => {
    const boss = Browser.of(app, cast.instance_admin);
    const settings = async () => (await boss.api('get', '/api/instance-settings')).body as object;
    const bad = await boss.post('/admin/settings', { run_retention_days: '1.5' });
    expect(errorOf(bad.text, 'run_retention_days')).toBe('Must be a whole number.');
    await boss.post('/admin/settings', { instance_name: 'Ours', run_retention_days: '30' });
    expect(await settings()).toMatchObject({ instance_name: 'Ours', run_retention_days: 30 });
    await boss.post('/admin/settings', { instance_name: '', run_retention_days: '' });
    expect(await settings()).toMatchObject({ instance_name: null, run_retention_days: null });
    const stopped = await boss.post('/admin/settings', { runs_paused: 'on' });
    expect((await boss.get(stopped.headers.location!)).text).toContain('No more runs will start.');
    await boss.post('/admin/settings', { runs_paused: '' });
    expect(await settings()).toMatchObject({ runs_paused: false });
  });

  it('renames a user, sets a password, takes the sign-in away, and deletes the account', async () => {
    const boss = Browser.of(app, cast.instance_admin);
    const email = `${newId()}@example.com`;
    await boss.post('/admin/users', { email, display_name: 'Newcomer', password: 'first password' });
    const { body } = await boss.api('get', '/api/users?limit=1');
    const path = `/admin/users/${body[0].id}`;
    const signIn = async (password: string) =>
      (await new Browser(app).post('/login', { email, password })).status;
    expect((await boss.post(path, { display_name: 'Renamed' })).headers.location).toBe(`${path}?done=saved`);
    expect((await boss.get('/admin/users')).text).toContain(`href="${path}">Renamed</a>`);
    const short = await boss.post(`${path}/password`, { new_password: 'short' });
    expect([short.status, errorOf(short.text, 'new_password')]).toEqual([400, 'Needs 8 characters or more.']);
    await boss.post(`${path}/password`, { new_password: 'second password' });
    expect([await signIn('first password'), await signIn('second password')]).toEqual([401, 303]);
    await boss.post(path, { is_active: '' });
    expect(await signIn('second password')).toBe(401);
    expect((await boss.post(`${path}/delete`)).headers.location).toBe('/admin/users?done=deleted');
    expect((await boss.get(path)).status).toBe(404);
  });

  it('is told that nobody deletes themselves', async () => {
    const own = `/admin/users/${cast.instance_admin.user_id}`;
    const boss = Browser.of(app, cast.instance_admin);
    expect((await boss.get(own)).text).not.toContain(`${own}/delete`);
    expect((await boss.post(`${own}/delete`)).status).toBe(409);
  });

  it('switches a flag and reverts it', async () => {
    const boss = Browser.of(app, cast.instance_admin);
    const flag = async () => (await boss.api('get', '/api/admin/flags/a2a')).body as object;
    await boss.post('/admin/flags/a2a', { value: 'false' });
    expect(await flag()).toMatchObject({ value: false, effective_value: false });
    await boss.post('/admin/flags/a2a/revert');
    expect(await flag()).toMatchObject({ value: null, effective_value: true });
  });

  it('is told why a thing cannot be restored, and purges it', async () => {
    const member = Browser.of(app, cast.member);
    const boss = Browser.of(app, cast.instance_admin);
    const skill = { slug: `s-${newId()}`, name: 'Style', description: 'How we write' };
    const { body } = await member.api('post', `/api${base}/skills`, skill);
    await member.api('delete', `/api/skills/${body.id}`);
    await member.api('post', `/api${base}/skills`, skill);
    const { text } = await boss.get('/admin/trash?type=skill');
    const entry = new RegExp(`action="(/admin/trash/skill/${body.id}/[^"]+)/restore"`).exec(text)![1]!;
    const refused = await boss.post(`${entry}/restore`);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('Slug is already in use.');
    expect((await boss.post(`${entry}/purge`)).headers.location).toBe('/admin/trash?done=purged');
    expect((await boss.get('/admin/trash?type=skill')).text).not.toContain(entry);
  });
});

it('an admin adds a webhook, sees its secret once and its deliveries, has one sent again, and deletes it', async () => {
  const admin = Browser.of(app, cast.admin);
  const path = `${base}/webhooks`;
  const refused = await admin.post(path, { url: 'http://10.0.0.1/', events: 'issue.*' });
  expect(errorOf(refused.text, 'url')).toMatch(/^Names a private .*SERVICE_WEBHOOK_ALLOWED_HOSTS\.$/);
  expect(refused.text).toContain('value="issue.*"');
  const input = { url: 'https://example.com/hook', events: 'issue.*, approval.created' };
  const made = await admin.post(path, input);
  const secret = /<code>([\w-]{43})<\/code>/.exec(made.text)![1]!;
  const list = await admin.get(path);
  expect(list.text).not.toContain(secret);
  const page = /href="(\/webhooks\/[\w-]+)"/.exec(list.text)![1]!;
  await database.pool.query(
    `insert into webhook_deliveries (company_id, webhook_id, seq, event_id, event_type, body, status, attempts, error, finished_at)
     values ($1, $2, 1, $2, 'issue.created', '{}', 'failed', 1, 'it answered 500', now())`,
    [cast.company_id, page.split('/').at(-1)],
  );
  const shown = await admin.get(page);
  expect(shown.text).toContain('it answered 500');
  const again = /action="(\/webhook-deliveries\/[\w-]+\/redeliver)"/.exec(shown.text)![1]!;
  expect((await admin.get((await admin.post(again)).headers.location!)).text).toContain(
    'It is being sent again.',
  );
  // The part asks for the outcome until there is one.
  const source = new RegExp(`data-source="(${page}/part/deliveries)"`);
  const part = source.exec((await admin.get(page)).text)![1]!;
  const sentAgain = (await admin.get(part)).text;
  expect(sentAgain).toMatch(/<table[\s\S]*data-awaits/);
  expect(sentAgain).not.toContain('it answered 500');
  await database.pool.query("update webhook_deliveries set status = 'delivered'");
  expect((await admin.get(part)).text).not.toContain('data-awaits');
  await admin.post(`${page}/enabled`, { enabled: '' });
  expect((await admin.get(part)).text).toContain('Switched off');
  expect((await admin.get(part)).text).not.toContain('/redeliver"');
  expect((await admin.post(again)).text).toContain('the webhook is switched off');
  const gone = await admin.post(`${page}/delete`);
  expect((await admin.get(gone.headers.location!)).text).toContain('The webhook has been deleted.');
  expect((await admin.get(page)).status).toBe(404);
});
