import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createIssue } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import { type Cast, createCast } from '../http/cast.ts';
import { pageForms } from '../http/page-forms.ts';
import { Browser, startPages } from '../http/pages.ts';

const { mcp_servers, plugins } = schema;

let app: Express;
let database: Database;
let cast: Cast;
let base: string;

beforeAll(async () => {
  ({ app, database } = await startPages());
  cast = await createCast(database);
  base = `/companies/${cast.company_id}`;
});

/** Text as seen by a reader of the page. */
const plain = (text: string): string =>
  text.replaceAll(/&#(\d+);/g, (_all, code: string) => String.fromCodePoint(Number(code)));

const errorOf = (text: string, field: string): string =>
  new RegExp(`id="e-${field}" role="alert">([^<]*)`).exec(text)?.[1] ?? '';

it('an admin mints a key on the page, where it stands in every configuration, once; a viewer reads the address', async () => {
  const admin = Browser.of(app, cast.admin);
  const made = await admin.post(`${base}/connect`, { label: 'Laptop', role: 'member', expires_in_days: '' });
  const key = /<code>([^<]{20,})<\/code>/.exec(made.text)![1]!;
  // The seventh is in the form that tries it.
  expect(made.text.split(key).length - 1).toBe(7);
  const [json] = /\{\s+"mcpServers[\s\S]*?(?=<\/pre>)/.exec(plain(made.text))!;
  expect(Object.values((JSON.parse(json) as { mcpServers: object }).mcpServers)).toEqual([
    {
      type: 'http',
      url: expect.stringMatching(new RegExp(`/mcp/${cast.company_id}$`)),
      headers: { Authorization: `Bearer ${key}` },
    },
  ]);
  const seen = await Browser.of(app, cast.viewer).get(`${base}/connect`);
  expect(seen.text).toContain(`/mcp/${cast.company_id}`);
  expect(seen.text).not.toContain(key);
  expect(seen.text).not.toContain('Mint a key');
  expect(seen.text).not.toContain(`${base}/mcp-servers`);
  expect((await Browser.of(app, cast.member).post(`${base}/connect`, { role: 'member' })).status).toBe(403);
});

it('an admin adds a server, chooses its tools and agents, sees its health and calls, and deletes it', async () => {
  const admin = Browser.of(app, cast.admin);
  const list = `${base}/mcp-servers`;
  const form = {
    name: 'tracker',
    url: 'https://mcp.example.com/mcp',
    headers: 'Authorization: Bearer plain',
  };
  const refused = await admin.post(list, form);
  expect(errorOf(refused.text, 'headers')).toBe('Has an invalid format.');
  expect(refused.text).toContain('value="tracker"');
  expect(errorOf((await admin.post(list, { ...form, headers: 'no colon' })).text, 'headers')).toBe(
    'Must be lines of the form Name: value.',
  );
  const headers = 'Authorization: Bearer ${secret:TRACKER}\n\nX-Team: ${secret:TEAM}';
  const made = await admin.post(list, { ...form, headers, timeout_seconds: '20' });
  const [own = ''] = made.headers.location!.split('?');
  const id = own.split('/').at(-1)!;
  const fresh = (await admin.get(made.headers.location!)).text;
  expect(fresh).toContain('Its tools are listed within seconds.');
  // The page looks for them, and for what comes later.
  for (const part of ['health', 'tools', 'calls'])
    expect(fresh).toContain(`data-source="${own}/part/${part}"`);
  expect(fresh.match(/data-awaits/g)).toHaveLength(3);

  const tool = (name: string) => ({
    name,
    called: name,
    description: `<b>${name}</b>`,
    input_schema: {},
    read_only: true,
  });
  await database.db
    .update(mcp_servers)
    .set({
      listed_tools: [tool('find'), { ...tool('close'), left_out: ['cl.ose', '<i>'] }],
      tool_count: 2,
      status: 'failing',
      last_error: 'it answered 500',
    })
    .where(eq(mcp_servers.id, id));
  await database.pool.query(
    `insert into mcp_server_calls (server_id, tool, actor_type, actor_name, ok, error, duration_ms)
     values ($1, 'find', 'agent', 'Ada', false, 'the ticket is <locked>', 12)`,
    [id],
  );
  const namesake = { name: 'find', namespace: 'tracker', description: '', input_schema: {} };
  const [plugin] = await database.db
    .insert(plugins)
    .values({
      company_id: cast.company_id,
      name: 'Tracker',
      slug: 'tracker',
      state: 'running',
      host_capabilities: [],
      manifest: { name: 'Tracker', tools: [namesake], events: [], jobs: [], webhooks: [] },
    })
    .returning();
  const shown = (await admin.get(own)).text;
  expect(shown.match(/a plugin has a tool of this name/g)).toHaveLength(1);
  await database.db.delete(plugins).where(eq(plugins.id, plugin!.id));
  for (const part of ['it answered 500', 'tracker__find', '${secret:TRACKER}']) expect(shown).toContain(part);
  expect(plain(shown)).toContain('Left out, as they would have the same name: cl.ose, <i>');
  expect(plain(shown)).toContain('the ticket is <locked>');
  expect(shown).not.toMatch(/<b>find|<locked>/);
  expect((await admin.get(`${own}/part/health`)).text).toContain('it answered 500');
  expect((await admin.get(`${own}/part/calls`)).text).toContain('the ticket is');
  // Whoever ticks boxes among the tools loses nothing by what comes later.
  const tools = (await admin.get(`${own}/part/tools`)).text;
  expect(tools).toContain('tracker__find');
  expect(tools).not.toContain('data-awaits');
  expect((await admin.post(`${own}/tools`, { all: '', tool: 'find' })).status).toBe(303);
  expect((await admin.post(`${own}/agents`, { all: '', agent_ids: cast.agent_id })).status).toBe(303);
  // Saving unchanged values does not discard its tools.
  await admin.post(own, { ...form, headers, timeout_seconds: '25', refresh_interval_seconds: '900' });
  expect((await admin.api('get', `/api/mcp-servers/${id}`)).body).toMatchObject({
    tools: ['find'],
    agents: [{ agent_id: cast.agent_id, tools: null }],
    headers: { Authorization: 'Bearer ${secret:TRACKER}', 'X-Team': '${secret:TEAM}' },
    timeout_seconds: 25,
    tool_count: 2,
  });
  expect((await admin.post(`${own}/agents`, { all: '', agent_ids: cast.other_agent_id })).text).toContain(
    'Unknown agent.',
  );
  await admin.post(`${own}/tools`, { all: 'on' });
  await admin.post(`${own}/enabled`, { enabled: '' });
  expect((await admin.post(`${own}/refresh`)).text).toContain('the server is switched off');
  expect((await admin.api('get', `/api/mcp-servers/${id}`)).body).toMatchObject({
    tools: null,
    enabled: false,
  });
  expect((await admin.get(`${own}/part/health`)).text).not.toContain('data-awaits');
  // Whatever is below a large server's tools can be reached without paging through them.
  const listed_tools = Array.from({ length: 21 }, (_each, n) => tool(`t${n}`));
  await database.db.update(mcp_servers).set({ listed_tools }).where(eq(mcp_servers.id, id));
  expect((await admin.get(own)).text).toContain('<summary>21 tools</summary>');
  const gone = await admin.post(`${own}/delete`);
  expect((await admin.get(gone.headers.location!)).text).toContain('The server has been deleted.');
  expect((await admin.get(own)).status).toBe(404);
});

it('an admin chooses among tools and agents by their boxes alone, whatever the box for all says', async () => {
  const admin = Browser.of(app, cast.admin);
  const { body } = await admin.api('post', `/api/companies/${cast.company_id}/mcp-servers`, {
    name: 'chosen',
    url: 'https://mcp.example.com/chosen',
  });
  const id = (body as { id: string }).id;
  const own = `/mcp-servers/${id}`;
  const tool = (name: string) => ({ name, called: name, description: '', input_schema: {}, read_only: true });
  const listed_tools = ['find', 'close', 'count'].map(tool);
  await database.db.update(mcp_servers).set({ listed_tools }).where(eq(mcp_servers.id, id));
  const form = async (action: string) =>
    pageForms((await admin.get(own)).text).find((each) => each.action === action)!.values;
  const now = async () => (await admin.api('get', `/api/mcp-servers/${id}`)).body;

  const [tools, agents] = [await form(`${own}/tools`), await form(`${own}/agents`)];
  expect(tools).toMatchObject({ all: ['', 'on'], tool: ['', 'find', 'close', 'count'] });
  await admin.post(`${own}/tools`, tools);
  await admin.post(`${own}/agents`, agents);
  expect(await now()).toMatchObject({ tools: null, agents: null });
  await admin.post(`${own}/tools`, { ...tools, tool: ['', 'find', 'count'] });
  await admin.post(`${own}/agents`, { ...agents, agent_ids: ['', cast.agent_id] });
  expect(await now()).toMatchObject({
    tools: ['find', 'count'],
    agents: [{ agent_id: cast.agent_id, tools: null }],
  });
  await admin.post(`${own}/tools`, { ...(await form(`${own}/tools`)), all: ['', 'on'] });
  await admin.post(`${own}/agents`, { ...(await form(`${own}/agents`)), all: ['', 'on'] });
  expect(await now()).toMatchObject({ tools: null, agents: null });
});

it('a tool that its server does not list just now stays allowed while others are chosen', async () => {
  const admin = Browser.of(app, cast.admin);
  const { body } = await admin.api('post', `/api/companies/${cast.company_id}/mcp-servers`, {
    name: 'forgetful',
    url: 'https://mcp.example.com/forgetful',
    tools: ['find', 'sometimes'],
  });
  const { id } = body as { id: string };
  const own = `/mcp-servers/${id}`;
  const tool = (name: string) => ({ name, called: name, description: '', input_schema: {}, read_only: true });
  const listed_tools = ['find', 'close'].map(tool);
  await database.db.update(mcp_servers).set({ listed_tools }).where(eq(mcp_servers.id, id));
  const { text } = await admin.get(own);
  expect(text).toMatch(/<code>forgetful__sometimes<\/code>[^]*Not listed at present/);
  const form = pageForms(text).find(({ action }) => action === `${own}/tools`)!;
  await admin.post(form.action, { ...form.values, tool: [...form.values.tool!, 'close'] });
  const saved = (await admin.api('get', `/api${own}`)).body as { tools: string[] };
  expect(saved.tools.toSorted()).toEqual(['close', 'find', 'sometimes']);
});

it('an admin adds a program of the operator’s, with variables, from a form that keeps what was refused', async () => {
  const commands = { files: { command: ['files'], description: 'Files', env: ['LOCALE'] } };
  const offering = await startPages({ SERVICE_MCP_COMMANDS: JSON.stringify(commands) });
  const admin = Browser.of(offering.app, cast.admin);
  const list = `${base}/mcp-servers`;
  expect((await Browser.of(app, cast.admin).get(list)).text).not.toContain('New program');
  expect((await admin.get(list)).text).toContain('files: Files');
  const form = { name: 'files', command: 'files', env: 'LOCALE' };
  const refused = (await admin.post(list, form)).text;
  expect(plain(errorOf(refused, 'env'))).toBe('Must be lines of the form NAME=value.');
  expect((await admin.post(list, { ...form, env: 'PATH=/tmp' })).text).toContain(
    'can&#39;t be set for files',
  );
  const made = await admin.post(list, { ...form, env: 'LOCALE=de' });
  const [own = ''] = made.headers.location!.split('?');
  expect(plain((await admin.get(own)).text)).toContain('LOCALE=de');
  expect((await admin.get(list)).text).toContain('<code>program files</code>');
  // No tools are listed yet, so there is nothing to try.
  expect((await admin.get(own)).text).not.toContain('Try a tool');
  expect((await admin.post(`${own}/try`, { tool: 'find', input: '{' })).text).toContain('not valid JSON');
});

it('an admin sees which push notifications were given up, and has one sent again', async () => {
  const admin = Browser.of(app, cast.admin);
  const { body } = await admin.api('post', `/api/companies/${cast.company_id}/issues`, { title: 'Told' });
  const issue_id = (body as { id: string }).id;
  const [webhook] = await database.db
    .insert(schema.webhooks)
    .values({
      company_id: cast.company_id,
      issue_id,
      config_id: 'mine',
      url: 'https://client.example/secret-path',
      events: [],
      secret_sealed: '',
      from_seq: 0,
      enabled: false,
    })
    .returning();
  const [delivery] = await database.db
    .insert(schema.webhook_deliveries)
    .values({
      company_id: cast.company_id,
      webhook_id: webhook!.id,
      seq: 1,
      event_id: issue_id,
      event_type: 'a2a.task',
      body: '{}',
      status: 'failed',
      error: 'it answered <500>',
      attempts: 9,
    })
    .returning();
  const path = `${base}/push-deliveries`;
  const shown = plain((await admin.get(`${path}?status=failed`)).text);
  for (const part of ['client.example', 'it answered', 'Send again']) expect(shown).toContain(part);
  expect(shown).not.toContain('secret-path');
  const again = await admin.post(`/push-deliveries/${delivery!.id}/redeliver`);
  expect(again.headers.location).toBe(`${path}?done=queued`);
  expect((await admin.get(`${path}?status=failed`)).text).toContain('None failed');
  expect((await admin.get(path)).text).toContain('pending');
  expect((await Browser.of(app, cast.member).get(path)).status).toBe(403);
});

it('an admin reads what a peer was given and how its calls went; who is none does not', async () => {
  const { a2a_calls, a2a_delegations, a2a_peers } = schema;
  const values = { company_id: cast.company_id, label: 'Far', url: 'https://far.example.com' };
  const [peer] = await database.db.insert(a2a_peers).values(values).returning();
  const own = `/peers/${peer!.id}`;
  const admin = Browser.of(app, cast.admin);
  expect((await admin.get(own)).text).toContain(`href="${own}/calls"`);
  expect((await admin.get(`${own}/delegations`)).text).toContain('Nothing has been delegated yet');
  const { id: issue_id } = await createIssue(database.db, { id: cast.company_id }, {});
  const about = { peer_id: peer!.id, issue_id, remote_agent: 'Scout <b>' };
  await database.db.insert(a2a_delegations).values({
    ...about,
    company_id: cast.company_id,
    remote_url: 'https://far.example.com/a',
    dialect: '1.0',
    message_id: issue_id,
    state: 'working',
    error: 'it does not answer',
    failures: 3,
    cost_usd: '0.25',
  });
  await database.db.insert(a2a_calls).values([
    { ...about, method: 'SendMessage', error: null, duration_ms: 12 },
    { ...about, method: 'GetTask', error: 'it does not answer', duration_ms: 60_000 },
  ]);
  const given = await admin.get(`${own}/delegations`);
  for (const part of [`href="/issues/${issue_id}"`, 'working', '$0.25', 'it does not answer', '3 times'])
    expect(given.text).toContain(part);
  expect(given.text).not.toContain('Scout <b>');
  const calls = await admin.get(`${own}/calls`);
  for (const part of ['SendMessage', 'GetTask', 'failed', '60,000']) expect(calls.text).toContain(part);
  for (const rest of ['/delegations', '/calls'])
    expect((await Browser.of(app, cast.viewer).get(own + rest)).status).toBe(403);
});
