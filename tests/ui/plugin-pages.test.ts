import { beforeAll, describe, expect, it } from '@jest/globals';
import { appendPluginLines } from '@acp/core';
import { type Database, schema } from '@acp/db';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

const { plugins } = schema;

let app: Express;
let database: Database;
let cast: Cast;
let list: string;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
  list = `/companies/${cast.company_id}/plugins`;
});

const errorOf = (text: string, field: string): string =>
  new RegExp(`id="e-${field}" role="alert">([^<]*)`).exec(text)?.[1] ?? '';

/** @returns the plugin's page */
async function register(slug: string): Promise<string> {
  const made = await Browser.of(app, cast.admin).post(list, {
    name: `Plugin <b>${slug}</b>`,
    slug,
    binary_path: '/opt/plugins/greet',
    config: '{"greeting": "Moin"}',
  });
  return made.headers.location!.replace(/\?.*/, '');
}

/** Puts it into the state of a running plugin. */
async function run(path: string): Promise<void> {
  const manifest = {
    name: 'Greet',
    tools: [
      {
        name: 'greet',
        namespace: 'greet',
        description: 'Greets <script>',
        input_schema: {
          type: 'object',
          properties: {
            'name "of" <b>': { type: 'string', description: 'Who it is' },
            times: { type: 'integer' },
            tone: { enum: ['warm', 'cool'] },
            more: { type: 'object' },
          },
          required: ['times'],
        },
      },
      { name: 'greet', namespace: 'formal', description: '', input_schema: { type: 'object' } },
    ],
    events: ['issue.*'],
    jobs: [],
    webhooks: [{ path: 'greet/in' }],
  };
  await database.db
    .update(plugins)
    .set({ state: 'running', approval_state: 'allowed', manifest, sandbox: 'bare', healthy: true })
    .where(eq(plugins.id, path.split('/').at(-1)!));
}

describe('an admin of a company', () => {
  it('registers a plugin, reads what it may do, and is told beside the field what is wrong', async () => {
    const admin = Browser.of(app, cast.admin);
    const refused = await admin.post(list, { name: 'X', slug: 'No Slug', config: '' });
    expect(refused.status).toBe(400);
    expect(errorOf(refused.text, 'slug')).toBe(
      'Use letters a-z and digits, with hyphens, underscores or dots between them: my-plugin.',
    );
    expect(errorOf((await admin.post(list, { name: 'X', slug: 'x', config: '{' })).text, 'config')).toBe(
      'Is not valid JSON.',
    );
    const path = await register('greet-one');
    const { text } = await admin.get(path);
    expect(text).toContain('Plugin &#60;b&#62;greet-one');
    expect(text).toContain('fetch from public addresses');
    expect(text).toContain(`action="${path}/allow"`);
    expect(text).toContain('Its SHA-256 is shown here once it is allowed');
    await database.db
      .update(plugins)
      .set({ binary_hash: 'ab'.repeat(32) })
      .where(eq(plugins.id, path.split('/').at(-1)!));
    expect((await admin.get(path)).text).not.toContain('Its SHA-256 is shown here');
    expect(text).not.toContain(`action="${path}/start"`);
    expect((await admin.get(list)).text).toContain(`href="${path}"`);
    expect((await admin.get(`${list}/audit`)).text).toContain('installed');
  });

  it('grants capabilities and secrets, changes and deletes it', async () => {
    const admin = Browser.of(app, cast.admin);
    const path = await register('greet-two');
    const change = (form: Record<string, string>) =>
      admin.post(`${path}/settings`, { name: 'Greet', config: '', may_log: 'on', ...form });
    expect(errorOf((await change({ secrets: 'not a name' })).text, 'secrets')).not.toBe('');
    const saved = await change({ may_kv: 'on', secrets: 'API_TOKEN, OTHER' });
    expect(saved.headers.location).toBe(`${path}/settings?done=saved`);
    const [row] = await database.db.select().from(plugins).where(eq(plugins.slug, 'greet-two'));
    expect(row).toMatchObject({
      name: 'Greet',
      config: null,
      host_capabilities: ['log', 'kv', 'secret:API_TOKEN', 'secret:OTHER'],
    });
    expect((await admin.get(path)).text).toContain('read the secret API_TOKEN');
    expect((await admin.post(`${path}/delete`)).headers.location).toBe(`${list}?done=deleted`);
    expect((await admin.get(path)).status).toBe(404);
  });

  it('bans it and lifts the ban', async () => {
    const admin = Browser.of(app, cast.admin);
    const path = await register('greet-three');
    await admin.post(`${path}/ban`);
    expect((await admin.get(path)).text).toContain(`action="${path}/rescind-ban"`);
    await admin.post(`${path}/rescind-ban`);
    expect((await admin.get(path)).text).toContain('data-status="pending"');
  });

  it('tries a tool by a form made from its schema, which keeps what was typed', async () => {
    const admin = Browser.of(app, cast.admin);
    const path = await register('greet-four');
    await run(path);
    const { text } = await admin.get(`${path}/tools`);
    expect(text).toContain('Greets &#60;script&#62;');
    expect(text).toContain('name &#34;of&#34; &#60;b&#62;');
    expect(text).toMatch(/<select[^>]*name="in-2"[\s\S]*warm/);
    expect(text).toContain('/mcp:greet__greet {');
    const second = await register('greet-too');
    await run(second);
    expect((await admin.get(`${second}/tools`)).text).toContain('reach another plugin');
    const refused = await admin.post(`${path}/tools/greet:greet`, { 'in-0': 'many', 'in-3': 'Ada' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('Times must be a number.');
    expect(refused.text).toContain('value="Ada"');
    const wrong = await admin.post(`${path}/tools/greet:greet`, { 'in-0': '1', 'in-1': '{' });
    expect(wrong.text).toContain('More is not valid JSON.');
    expect((await admin.post(`${path}/tools/other`, {})).status).toBe(404);
    expect(text).toContain(`action="${path}/tools/formal%3Agreet"`);
    expect((await admin.post(`${path}/tools/greet`, {})).status).toBe(409);
    // What was done is said within the part: it goes when the state that it led to does.
    const started = (await admin.get(`${path}?done=started`)).text;
    expect(started.split(`data-source="${path}/part/state"`)[1]).toContain('Started.');
    expect(started.split('Started.')).toHaveLength(2);
    const state = await admin.get(`${path}/part/state`);
    expect(state.text).not.toContain('Started.');
    expect(state.text).toContain('a plain process of the scheduler');
    expect(state.text).toContain(`action="${path}/stop"`);
    const work = await admin.get(`${path}/work`);
    expect(work.text).toContain('issue.*');
    expect(work.text).toContain(`plugins/webhooks/greet/in`);
    expect((await admin.get(`${path}/log`)).text).toContain('registered');
  });
});

it('a plugin that is being switched off is not offered to be started or restarted', async () => {
  const admin = Browser.of(app, cast.admin);
  const path = await register('leaving');
  const offered = async (values: Partial<typeof plugins.$inferInsert>) => {
    await database.db
      .update(plugins)
      .set({ approval_state: 'allowed', ...values })
      .where(eq(plugins.id, path.split('/').at(-1)!));
    const { text } = await admin.get(`${path}/part/state`);
    return ['start', 'restart', 'stop'].filter((act) => text.includes(`action="${path}/${act}"`));
  };
  expect(await offered({ state: 'running' })).toEqual(['restart', 'stop']);
  expect(await offered({ enabled: false })).toEqual(['stop']);
  expect(await offered({ state: 'stopped' })).toEqual([]);
  expect(await offered({ enabled: true })).toEqual(['start']);
  expect(await offered({ state: 'ready' })).toEqual(['stop']);
});

it('the jobs of a plugin that was stopped stay on its page, with their runs', async () => {
  const path = await register('was-stopped');
  const plugin_id = path.split('/').at(-1)!;
  await database.db.insert(schema.plugin_jobs).values({ plugin_id, name: 'nightly', schedule: '0 3 * * *' });
  await database.db.insert(schema.plugin_job_runs).values({
    plugin_id,
    job_name: 'nightly',
    scheduled_at: new Date(),
    status: 'failed',
    error: 'no moon',
    fence: 1,
  });
  const { text } = await Browser.of(app, cast.viewer).get(`${path}/work`);
  expect(text).toContain('nightly');
  expect(text).toContain('no moon');
});

it('whoever sees a plugin that runs without walls is told so', async () => {
  const path = await register('bare');
  await run(path);
  const read = async () => (await Browser.of(app, cast.viewer).get(path)).text;
  expect(await read()).toContain('none: a plain process of the scheduler');
  await database.db
    .update(plugins)
    .set({ sandbox: 'bubblewrap' })
    .where(eq(plugins.id, path.split('/').at(-1)!));
  expect(await read()).not.toContain('a plain process');
});

it('its tools follow its state, and its log its own lines while it runs, however quiet it is', async () => {
  const path = await register('live');
  const plugin_id = path.split('/').at(-1)!;
  const viewer = Browser.of(app, cast.viewer);
  const read = async (page: string) => (await viewer.get(`${path}${page}`)).text;
  const source = `data-live="plugin:${plugin_id}" data-source="${path}/part/tools"`;
  expect(await read('/tools')).toContain(source);
  expect(await read('/part/tools')).toContain('No tools');
  expect(await read('/part/log')).not.toContain('data-awaits');
  await run(path);
  expect(await read('/part/tools')).toContain('id="tool-greet:greet"');
  const awaited = async () => /data-awaits="([^"]+)"/.exec(await read('/part/log'))![1];
  const before = await awaited();
  await appendPluginLines(database.db, [{ plugin_id, type: 'log', level: 'info', message: 'Moin' }]);
  expect(await read('/part/log')).toContain('Moin');
  expect(await awaited()).not.toBe(before);
});

it('a viewer sees plugins and can do nothing to them', async () => {
  const path = await register('greet-five');
  await run(path);
  const viewer = Browser.of(app, cast.viewer);
  for (const page of [list, path, `${path}/tools`, `${path}/work`, `${path}/log`]) {
    const { text, status } = await viewer.get(page);
    expect(status).toBe(200);
    expect(text).not.toMatch(new RegExp(`<form[^>]*action="(${path}|${list})`));
  }
  expect((await viewer.get(`${path}/settings`)).status).toBe(403);
  expect((await viewer.post(`${path}/allow`)).status).toBe(403);
  const audit = await Browser.of(app, cast.admin).get(`${list}/audit`);
  expect(audit.text).toContain('allow denied');
});

it('an instance admin sees the plugins of all companies', async () => {
  const path = await register('greet-six');
  const { text } = await Browser.of(app, cast.instance_admin).get('/admin/plugins');
  expect(text).toContain(`href="${path}"`);
  expect(text).toContain(`href="${list}"`);
  expect(text).toContain('data-source="/admin/plugins/part/list"');
  const part = async () => (await Browser.of(app, cast.instance_admin).get('/admin/plugins/part/list')).text;
  const before = await part();
  expect(before).toMatch(/^<section[^>]*data-awaits="\d+"/);
  expect((await Browser.of(app, cast.admin).get('/admin/plugins/part/list')).status).toBe(403);
  await Browser.of(app, cast.admin).post(`${path}/ban`);
  expect(await part()).not.toContain(/data-awaits="\d+"/.exec(before)![0]);
});
