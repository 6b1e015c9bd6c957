/** Plugins in use: the repository's examples under the real host, called by agents, by MCP clients and over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  cloneDatabase,
  type FakeModel,
  killServices,
  startFakeModel,
  startService,
  waitFor,
} from '@acp/testkit';
import { build } from '../../scripts/plugin/build.ts';
import { type Operator, type Plugin, pluginOperator } from '../plugins/operator.ts';
import { rpc } from '../http/mcp-messages.ts';
import { type Api, baseEnv, createTeam, modelEnv, signIn, type Team } from './api.ts';

const examples = path.resolve(import.meta.dirname, '../../examples/plugins');
const SIGNING = 'shared-secret-of-github';

let model: FakeModel;
let api: Api;
let url: string;
let team: Team;
let operator: Operator;
let home: string;

beforeAll(async () => {
  const db = await cloneDatabase('plugin_work');
  home = await mkdtemp(path.join(tmpdir(), 'plugin-work-'));
  model = await startFakeModel();
  const env = {
    ...baseEnv,
    ...modelEnv(model.url),
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(home, 'service'),
    SERVICE_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    SERVICE_PLUGIN_WORKSPACE_ROOT: path.join(home, 'workspaces'),
  };
  const [web] = await Promise.all([
    startService({ ...env, SERVICE_ROLE: 'web' }),
    startService({ ...env, SERVICE_ROLE: 'scheduler' }),
  ]);
  ({ url } = web);
  api = await signIn(web);
  team = await createTeam(api, ['Ada', 'Bob']);
  operator = pluginOperator(api, team.company_id);
});

afterAll(async () => {
  await killServices();
  await model.close();
  await rm(home, { recursive: true, force: true });
});

const own = (rest: string) => `/api/companies/${team.company_id}/${rest}`;

async function keyOf(name: string): Promise<Record<string, string>> {
  const agent = team.agents.find((each) => each.name === name)!;
  const { raw_key } = await api.call<{ raw_key: string }>('POST', own('agent-api-keys'), {
    agent_id: agent.id,
    label: 'tests',
  });
  return { authorization: `Bearer ${raw_key}`, 'content-type': 'application/json' };
}

async function post(target: string, headers: Record<string, string>, body: unknown) {
  const response = await fetch(url + target, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Record<string, never> };
}

const mcp = async (headers: Record<string, string>, method: string, params: object = {}) => {
  const { body } = await post(`/mcp/${team.company_id}`, headers, rpc(method, params));
  return body.result as unknown as {
    tools: { name: string }[];
    content: { text: string }[];
    isError?: boolean;
  };
};

async function start(binary: string, config: object, grants: string[]): Promise<Plugin> {
  const plugin = await operator.install(config, binary);
  await api.call('PUT', `/api/plugins/${plugin.id}`, { host_capabilities: ['log', ...grants], config });
  await operator.done(plugin, 'allow');
  return operator.done(plugin, 'start');
}

it('a signed webhook of GitHub comes out as a comment on the issue that it mentions', async () => {
  for (const [name, value] of Object.entries({
    GITHUB_WEBHOOK_SECRET: SIGNING,
    GITHUB_TOKEN: 'token-of-github',
  }))
    await api.call('POST', own('secrets'), { name, value });
  const binary = await build(path.join(examples, 'github'), path.join(home, 'github'));
  const grants = ['kv', 'issues.comment', 'secret:GITHUB_WEBHOOK_SECRET', 'secret:GITHUB_TOKEN'];
  const plugin = await start(binary, { repositories: ['octo/hello'] }, grants);
  expect(plugin).toMatchObject({ state: 'running', error: null });
  const issue = await api.call<{ id: string; identifier: string }>('POST', own('issues'), {
    title: 'Log in',
  });
  const body = {
    action: 'opened',
    repository: { full_name: 'octo/hello' },
    issue: {
      number: 5,
      title: `Mend the login, see ${issue.identifier}`,
      body: null,
      state: 'open',
      html_url: 'https://github.com/octo/hello/issues/5',
      updated_at: '2026-01-01T00:00:00Z',
      user: { login: 'grace' },
    },
  };
  const signed = (secret: string) => ({
    'x-github-event': 'issues',
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(JSON.stringify(body)).digest('hex')}`,
  });
  const key = await keyOf('Ada');
  const hook = own('plugins/webhooks/github');
  for (const secret of ['another', SIGNING])
    expect(await post(hook, { ...key, ...signed(secret) }, body)).toMatchObject({
      status: 200,
      body: { status: 'delivered' },
    });
  const comments = await waitFor(async () => {
    const found = await api.call<{ body_markdown: string }[]>('GET', `/api/issues/${issue.id}/comments`);
    return found.length > 0 && found;
  });
  expect(comments.map(({ body_markdown }) => body_markdown)).toEqual([
    expect.stringContaining('[octo/hello#5](https://github.com/octo/hello/issues/5)'),
  ]);
  const { items } = await operator.result<{ items: object[] }>(plugin, 'list', { repository: 'octo/hello' });
  expect(items).toMatchObject([{ number: 5, state: 'open', author: 'grace' }]);
  await waitFor(async () =>
    (await operator.log(plugin)).some(({ message }) => message.includes('is not signed with the secret')),
  );
});

let python = true;
try {
  execFileSync('python3', ['-c', 'import sqlite3'], { stdio: 'ignore' });
} catch {
  python = false;
}
const withPython: typeof describe.skip = python ? describe : describe.skip;

withPython(`tools of a plugin${python ? '' : ' (skipped: no python3 with sqlite3)'}`, () => {
  it('are called by an agent’s run, by MCP and by HTTP, as far as permissions go', async () => {
    await start(path.join(examples, 'digest/digest.py'), {}, []);
    const ada = await keyOf('Ada');
    const { tools } = await mcp(ada, 'tools/list');
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['digest__note', 'digest__report']));
    const noted = await mcp(ada, 'tools/call', {
      name: 'digest__note',
      arguments: { text: 'from a client' },
    });
    expect(noted.content[0]!.text).toContain('noted');
    const wrong = await mcp(ada, 'tools/call', { name: 'digest__note', arguments: { text: 7 } });
    expect(wrong).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('text must be string') }],
    });
    // Bob is not allowed to.
    const bob = team.agents.find(({ name }) => name === 'Bob')!;
    await api.call('PATCH', `/api/agents/${bob.id}/permissions`, { 'plugins.invoke': false });
    const withheld = await keyOf('Bob');
    const listed = await mcp(withheld, 'tools/list');
    expect(listed.tools.filter(({ name }) => name.startsWith('digest__'))).toEqual([]);
    const note = { tool: 'digest:note', input: { text: 'by Bob' } };
    expect((await post(own('plugins/tools/invoke'), withheld, note)).status).toBe(403);
    expect((await post(own('plugins/webhooks/digest/note'), withheld, {})).status).toBe(403);
    // Called by an agent's run.
    model.setScript(({ n }) =>
      n === 1
        ? '/mcp:digest__note {"text": "in a run"}\n/mcp:digest__report {"days": 1}\n'
        : { text: 'Noted. /done' },
    );
    const issue = await api.call<{ id: string }>('POST', own('issues'), {
      title: 'Note it',
      assignee_agent_id: team.agents.find(({ name }) => name === 'Ada')!.id,
    });
    await waitFor(
      () => model.requests.some(({ messages }) => JSON.stringify(messages).includes('note: in a run')),
      {
        what: 'the report in the next prompt',
      },
    );
    const called = await post(own('plugins/tools/invoke'), ada, {
      tool: 'digest:report',
      input: { days: 1 },
    });
    const { markdown } = (called.body as unknown as { result: { markdown: string } }).result;
    for (const line of ['note: from a client', 'note: in a run', 'issues created'])
      expect(markdown).toContain(line);
    expect(markdown).not.toContain('by Bob');
    expect(issue.id).toMatch(/-/);
  });
});
