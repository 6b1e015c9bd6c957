/** The forms of an agent's settings and files. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AgentStatus } from '@acp/contract';
import { type Database, schema } from '@acp/db';
import { createAgent } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast } from '../http/cast.ts';
import { pageForms } from '../http/page-forms.ts';
import { Browser, startPages } from '../http/pages.ts';

const home = mkdtempSync(path.join(tmpdir(), 'acp-agent-pages-'));
let app: Express;
let cast: Cast;
let database: Database;
beforeAll(async () => {
  const pages = await startPages({ SERVICE_HOME: home });
  ({ app, database } = pages);
  cast = await createCast(database);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const headers = (who: 'admin' | 'member' | 'viewer') => ({
  ...cast[who].headers,
  'Sec-Fetch-Site': 'same-origin',
});
const get = async (at: string, who: 'admin' | 'member' | 'viewer' = 'member') =>
  request(app).get(at).set(headers(who));
const post = async (at: string, fields: Record<string, string> = {}, who: 'admin' | 'member' = 'member') =>
  request(app).post(at).type('form').set(headers(who)).send(new URLSearchParams(fields).toString());
const settings = () => `/agents/${cast.agent_id}/settings`;
const files = () => `/agents/${cast.agent_id}/files`;

describe('the form that hires an agent', () => {
  it('begins with the company’s defaults, and leaves to them what is not changed in it', async () => {
    const company = `/companies/${cast.company_id}`;
    const set = await post(
      `${company}/settings/agents`,
      {
        adapter_config: '{"extra_env": {"TOKEN": "${secret:TOKEN}"}, "timeout_seconds": 90}',
        heartbeat_enabled: 'on',
        heartbeat_interval_sec: '1200',
      },
      'admin',
    );
    expect(set.status).toBe(303);
    const form = pageForms((await get(`${company}/agents/new`)).text).find(({ action }) =>
      action.endsWith('/agents/new'),
    )!;
    const typed = Object.entries({ ...form.values, name: ['Dora'] });
    const fields = Object.fromEntries(typed.map(([name, values]) => [name, values.at(-1)!]));
    const hired = await post(form.action, fields);
    const of = async ({ headers: { location } }: typeof hired) =>
      (await request(app).get(`/api${location!}`).set(cast.member.headers)).body as object;
    const defaults = { timeout_seconds: 90, extra_env: { TOKEN: '${secret:TOKEN}' } };
    expect(await of(hired)).toMatchObject({
      adapter_config: defaults,
      heartbeat_enabled: true,
      heartbeat_interval_sec: 1200,
    });
    const other = { ...fields, name: 'Emil', heartbeat_enabled: '', heartbeat_interval_sec: '60' };
    expect(await of(await post(form.action, other))).toMatchObject({
      adapter_config: defaults,
      heartbeat_enabled: false,
      heartbeat_interval_sec: 60,
    });
  });
});

it.each([
  ['role', { role: 'nonsense' }, 'Is none of the choices.'],
  ['provider_id', { provider_id: 'nonsense' }, 'Must be the id of something that exists.'],
])('an agent’s form that is refused for its %s says so beside it', async (field, typed, said) => {
  const { status, text } = await post(
    `/companies/${cast.company_id}/agents/new`,
    { name: 'X', ...typed },
    'admin',
  );
  expect(status).toBe(400);
  const [, shown] = new RegExp(`id="e-${field}" role="alert">([^<]*)<`).exec(text) ?? [];
  expect(shown).toBe(said);
});

it('an agent’s page offers what can be done with it now', async () => {
  const { id } = await createAgent(database.db, { id: cast.company_id }, { name: 'Gone' });
  const offered = async (status: AgentStatus) => {
    await database.db.update(schema.agents).set({ status }).where(eq(schema.agents.id, id));
    const { text } = await get(`/agents/${id}`);
    return [...text.matchAll(new RegExp(`action="/agents/${id}/(\\w+)"`, 'g'))].map(([, act]) => act!);
  };
  expect(await offered('idle')).toEqual(['invoke', 'delete', 'pause']);
  expect(await offered('paused')).toEqual(['invoke', 'resume', 'delete']);
  for (const status of ['pending_approval', 'terminated'] as const) {
    expect([status, await offered(status)]).toEqual([status, ['delete']]);
    for (const act of ['invoke', 'pause'])
      expect([status, act, (await post(`/agents/${id}/${act}`)).status]).toEqual([status, act, 409]);
  }
});

it('no chat is begun with an agent that has ended: it would never answer', async () => {
  const { id } = await createAgent(database.db, { id: cast.company_id }, { name: 'Ended' });
  const offers = async () => {
    const pages = ['', '/settings', '/prompts', '/files'].map(async (below) => get(`/agents/${id}${below}`));
    return (await Promise.all(pages)).map(({ text }) => text.includes('name="agent_id"'));
  };
  expect(await offers()).toEqual([true, true, true, true]);
  const begun = await post(`/companies/${cast.company_id}/chats`, { agent_id: id });
  const chat = begun.headers.location!;
  expect((await get(chat)).text).toContain('data-composer');
  await database.db.update(schema.agents).set({ status: 'terminated' }).where(eq(schema.agents.id, id));
  expect(await offers()).toEqual([false, false, false, false]);
  const { text } = await get(chat);
  expect(text).toContain('the chat is read-only');
  expect(text).not.toContain('data-composer');
});

describe('an agent’s settings', () => {
  it('show permissions, which a member changes but for the use of secrets', async () => {
    const done = await post(`/agents/${cast.agent_id}/permissions`, {
      'notes.write': '',
      'issues.create': 'on',
    });
    expect(done.headers.location).toBe(`${settings()}?done=saved`);
    const { body } = await request(app)
      .get(`/api/agents/${cast.agent_id}/permissions`)
      .set(cast.member.headers);
    expect(body).toMatchObject({ 'notes.write': false, 'issues.create': true, 'agents.create': true });
    const refused = await post(`/agents/${cast.agent_id}/permissions`, { 'secrets.use': 'on' });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('nly admins can grant')]);
    for (const yes of ['on', '']) {
      const given = await post(`/agents/${cast.agent_id}/permissions`, { 'secrets.use': yes }, 'admin');
      expect(given.status).toBe(303);
    }
    for (const page of [settings(), `/agents/${cast.agent_id}`])
      expect((await get(page, 'viewer')).text).not.toContain('<form method="post" action="/agents');
    expect((await get(settings())).text).toContain(`name="notes.write"`);
  });

  it('tell why it is paused, and what a configuration changed', async () => {
    const page = `/agents/${cast.agent_id}`;
    expect((await post(`${page}/pause`, { reason: 'Waits for the new keys' })).status).toBe(303);
    expect((await get(page, 'viewer')).text).toContain('Paused: Waits for the new keys');
    expect((await post(`${page}/resume`)).status).toBe(303);
    expect((await get(page)).text).not.toContain('Waits for the new keys');
    const { name } = (await request(app).get(`/api${page}`).set(cast.member.headers)).body as {
      name: string;
    };
    for (const timeout_seconds of [61, 62])
      await post(`${page}/edit`, { name, adapter_config: JSON.stringify({ timeout_seconds }) });
    expect((await get(settings())).text).toMatch(/<del>[^<]*61[^<]*<\/del><ins>[^<]*62/);
  });

  it('say whether agents of elsewhere may call it; a form without the box leaves that as it is', async () => {
    const own = `/agents/${cast.agent_id}/edit`;
    const read = async () =>
      (await request(app).get(`/api/agents/${cast.agent_id}`).set(cast.member.headers)).body as {
        name: string;
        externally_available: boolean;
      };
    const { name } = await read();
    const is = async () => (await read()).externally_available;
    expect((await post(own, { name, externally_available: 'on' })).status).toBe(303);
    expect(await is()).toBe(true);
    await post(own, { name });
    expect(await is()).toBe(true);
    await post(own, { name, externally_available: '' });
    expect(await is()).toBe(false);
  });

  it('offer a test of the adapter, and say it beside where no scheduler answers', async () => {
    expect((await get(settings())).text).toContain(`action="/agents/${cast.agent_id}/test-adapter"`);
    expect((await get(settings(), 'viewer')).text).not.toContain('/test-adapter');
    const silent = await post(`/agents/${cast.agent_id}/test-adapter`);
    expect([silent.status, silent.text]).toEqual([
      503,
      expect.stringContaining('no scheduler answered in time'),
    ]);
  });

  it('keep every prompt and configuration, with who and why, and bring an old prompt back', async () => {
    const change = async (body: object) =>
      request(app).patch(`/api/agents/${cast.agent_id}`).set(headers('admin')).send(body);
    await change({ system_prompt: 'Be brief.', adapter_config: { full_context: true }, reason: 'too long' });
    const { text } = await get(settings());
    expect(text).toContain('too long');
    expect(text).toContain('&#34;full_context&#34;: true');
    const prompts = `/agents/${cast.agent_id}/prompts`;
    expect((await get(prompts)).text).toContain('<ins>Be brief.</ins>');
    const back = await post(`/agents/${cast.agent_id}/prompt-versions/1/activate`);
    expect(back.headers.location).toBe(`${prompts}?done=prompt`);
    const agent = await request(app).get('/api/agents/me').set(cast.agent.headers);
    expect(agent.body.current_prompt_version_number).toBe(1);
    expect(agent.body.system_prompt).not.toBe('Be brief.');
  });
});

describe('an agent’s files', () => {
  it('are listed page by page', async () => {
    const { id } = await createAgent(database.db, { id: cast.company_id }, {});
    await database.pool.query(
      `insert into agent_files (company_id, agent_id, kind, path, storage_key, size_bytes, sha256)
        select $1, id, 'file', 'file ' || lpad(n::text, 3, '0'), n::text || id, 1, '' from agents, generate_series(1, 60) n where id = $2`,
      [cast.company_id, id],
    );
    const first = (await get(`/agents/${id}/files`)).text;
    expect(first).not.toContain('file 051');
    const next = /href="([^"]+)">Next page</.exec(first)![1]!.replaceAll('&#61;', '=');
    const { text } = await get(next);
    expect(text).toContain('file 051');
    expect(text).not.toContain('Next page');
  });

  it('are uploaded, listed, downloaded and deleted; a path that leads elsewhere is refused', async () => {
    const upload = (at: string) =>
      request(app)
        .post(files())
        .set(headers('member'))
        .field('path', at)
        .attach('file', Buffer.from('a,b'), 'x.csv');
    expect((await upload('data/x.csv')).headers.location).toBe(`${files()}?done=file`);
    const refused = await upload('../x.csv');
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('ordinary names')]);
    expect(refused.text).toContain('value="../x.csv"');
    const { text } = await get(files());
    const link = /href="(\/api\/agents\/[^"]+\/files\/data\/x\.csv)"/.exec(text)![1]!;
    expect(String((await get(link)).body)).toBe('a,b');
    const remove = /action="([^"]+files\/delete\?path[^"]+)"/.exec(text)![1]!.replaceAll('&#61;', '=');
    expect((await post(remove)).headers.location).toBe(`${files()}?done=file-deleted`);
    expect((await get(link)).status).toBe(404);
  });

  it('and skills of its own are added and deleted; what is none comes back as it was typed', async () => {
    const at = `/agents/${cast.agent_id}/fs-skills`;
    const refused = await post(at, { slug: 'binding', content: 'no front matter' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('no front matter</textarea>');
    const content = '---\nname: Binding\ndescription: How books are bound.\n---\nSteps';
    expect((await post(at, { slug: 'binding', content })).headers.location).toBe(`${files()}?done=skill`);
    expect((await get(files())).text).toContain('How books are bound.');
    expect((await post(`${at}/binding/delete`)).headers.location).toBe(`${files()}?done=skill-deleted`);
  });
});

it('offers an agent the providers that work first, and says of the others that they do not', async () => {
  const admin = Browser.of(app, cast.admin);
  const list = `/api/companies/${cast.company_id}/providers`;
  const add = (name: string, enabled = true) =>
    admin.api('post', list, { name, adapter_type: 'family_chat_a', enabled });
  await add('Offered working');
  await add('Offered exhausted');
  await add('Offered before', false);
  const pause = `update providers set paused_until = now() + interval '1 hour' where name = 'Offered exhausted'`;
  await database.pool.query(pause);
  const { text } = await admin.get(`/companies/${cast.company_id}/agents/new`);
  const offered = [...text.matchAll(/Offered \w+(, \w+)?/g)].map(([label]) => label);
  expect(offered).toEqual(['Offered working', 'Offered exhausted, paused', 'Offered before, disabled']);
});
