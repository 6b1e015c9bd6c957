/** MCP servers that are programs: offered by the operator, registered by a company, run sandboxed by one of two schedulers. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { McpServer, McpServerCall, McpServerTool } from '@acp/contract';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findBubblewrap, loadConfig, repositoryRoot } from '@acp/kernel';
import { cloneDatabase, type TestDatabase, testLogger, waitFor } from '@acp/testkit';
import { startScheduler, type RunningScheduler } from '../../apps/scheduler/src/main.ts';
import { sweepPlugins } from '../../apps/scheduler/src/plugins/sweep-plugins.ts';
import { createApp } from '../../apps/web/src/app.ts';
import { listen, type WebServer } from '../../apps/web/src/http/server.ts';
import { createServices } from '../../apps/web/src/http/services.ts';
import { type Cast, createCast } from './cast.ts';
import { rpc } from './mcp-messages.ts';

/** Without a sandbox the operator must switch it off, and the sandbox's effects cannot be observed. */
const hasWalls = 'file' in (await findBubblewrap());
const TOKEN = 'memory-token-0123456789';
const script = resolve(import.meta.dirname, 'stdio-mcp-server.mjs');
const offers = {
  memory: {
    command: [process.execPath, script, '--from-the-operator'],
    description: 'Keeps facts',
    env: ['TOKEN', 'MODE'],
    readable: [join(repositoryRoot, 'node_modules')],
  },
  gone: { command: ['/nowhere/server'] },
};

let db: TestDatabase;
let web: WebServer;
let home: string;
let config: ReturnType<typeof loadConfig>;
let schedulers: Record<string, RunningScheduler> = {};
let cast: Cast;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'mcp-programs-'));
  db = await cloneDatabase('mcp_programs');
  void db.notifier;
  const { database, listener } = db;
  config = loadConfig({
    DATABASE_URL: db.url,
    SERVICE_HOME: home,
    SERVICE_PLUGIN_WORKSPACE_ROOT: join(home, 'workspaces'),
    SERVICE_PLUGIN_SANDBOX: hasWalls ? 'bubblewrap' : 'disabled',
    SERVICE_MCP_COMMANDS: JSON.stringify(offers),
    SERVICE_ENCRYPTION_KEY: '7'.repeat(64),
    SERVICE_DRAIN_TIMEOUT_SEC: '0',
    RATE_LIMIT_RPM: '0',
  });
  const logger = testLogger();
  const services = createServices({ database, config, logger, listener });
  const app = createApp({ database, logger, config, services, listener, validate_responses: true });
  web = await listen(app, { host: '127.0.0.1', port: 0 });
  for (const instance_name of ['one', 'two'])
    schedulers[instance_name] = await startScheduler({ config, logger, instance_name });
  cast = await createCast(database);
  await api('POST', ofCompany('secrets'), { name: 'MEMORY', value: TOKEN });
});

afterAll(async () => {
  await Promise.all(Object.values(schedulers).map(async (each) => each.stop()));
  await web.stop(0);
  await rm(home, { recursive: true, force: true });
});

type Who = 'board_admin' | 'board_member' | 'agent' | 'foreign_board';
const ofCompany = (rest: string) => `/api/companies/${cast.company_id}/${rest}`;

async function send(method: string, path: string, body?: unknown, who: Who = 'board_admin') {
  const response = await fetch(web.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...cast[who].headers },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
}
async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await send(method, path, body);
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body as T;
}

const add = async (name: string, more: object = {}) =>
  api<McpServer>('POST', ofCompany('mcp-servers'), { name, command: 'memory', ...more });
const refresh = async ({ id }: McpServer) => api<McpServer>('POST', `/api/mcp-servers/${id}/refresh`);
const tried = async ({ id }: McpServer, tool: string, input: object = {}) =>
  send('POST', `/api/mcp-servers/${id}/tools/call`, { tool, input });
const answer = async <T>(server: McpServer, tool: string, input: object = {}): Promise<T> => {
  const { status, body } = await tried(server, tool, input);
  expect([status, body]).toEqual([200, { answer: expect.anything() }]);
  return (body as { answer: T }).answer;
};
const around = async (server: McpServer) => {
  const input = { path: join(repositoryRoot, 'package.json'), port: Number(new URL(web.url).port) };
  return JSON.parse(await answer<string>(server, 'around', input)) as Record<string, unknown>;
};
async function holder({ id }: McpServer): Promise<string | null> {
  const found = await db.database.pool.query('select held_by from mcp_servers where id = $1', [id]);
  return (found.rows as { held_by: string | null }[])[0]?.held_by ?? null;
}

describe('a program that the operator offers', () => {
  it('is registered by its name alone, is listed, and answers from within its walls', async () => {
    expect(await api('GET', ofCompany('mcp-commands'))).toEqual([
      { name: 'memory', description: 'Keeps facts', env: ['TOKEN', 'MODE'] },
      { name: 'gone', description: null, env: [] },
    ]);
    const made = await add('memory', { env: { TOKEN: '${secret:MEMORY}' }, tools: ['around', 'remember'] });
    expect(made).toMatchObject({ url: null, command: 'memory', env: { TOKEN: '${secret:MEMORY}' } });
    expect(await refresh(made)).toMatchObject({
      last_error: null,
      status: 'healthy',
      tool_count: 4,
      server_info: 'memory 1.0.0',
    });
    const tools = await api<McpServerTool[]>('GET', `/api/mcp-servers/${made.id}/tools`);
    expect(tools.map(({ called, allowed }) => [called, allowed])).toEqual([
      ['memory__remember', true],
      ['memory__around', true],
      ['memory__crash', false],
      ['memory__hang', false],
    ]);
    const asAgent = async () => {
      const message = rpc('tools/call', { name: 'memory__around', arguments: { path: '/', port: 1 } });
      const { body } = await send('POST', `/mcp/${cast.company_id}`, message, 'agent');
      return (body as { result: { structuredContent?: string; isError?: true } }).result;
    };
    await waitFor(async () => (await asAgent()).isError !== true);
    expect(await around(made)).toEqual({
      instance: expect.any(String),
      arguments: ['--from-the-operator'],
      variables: ['HOME', 'LANG', 'PATH', 'TOKEN'],
      // It has the value, but its output is redacted.
      token: '[redacted]',
      sees: !hasWalls,
      network: hasWalls ? 'ECONNREFUSED' : 'reached',
    });
    expect((await tried(made, 'crash')).status).toBe(404);
    const calls = await api<McpServerCall[]>('GET', `/api/mcp-servers/${made.id}/calls`);
    expect(calls).toContainEqual(expect.objectContaining({ tool: 'around', ok: true, actor_type: 'agent' }));
    await api('DELETE', `/api/mcp-servers/${made.id}`);
  });

  it('is all that a company can name: neither another program, nor arguments, nor other variables', async () => {
    for (const [body, error] of [
      [{ command: '/bin/sh' }, 'command must be one that the operator offers: memory, gone'],
      [{ command: 'constructor' }, 'command must be one that the operator offers: memory, gone'],
      [{ command: ['memory', '--all'] }, 'body.command must be string'],
      [{ env: { NODE_OPTIONS: '--import=/workspace/a.mjs' } }, "env.NODE_OPTIONS can't be set for memory"],
      [{ env: { TOKEN: 'a\nb' } }, 'body.env.TOKEN must match pattern'],
      [{ headers: { Authorization: '${secret:MEMORY}' } }, 'headers go with a url'],
      [{ url: 'https://example.com/mcp' }, 'either url or command must be given'],
      [{ command: undefined }, 'either url or command must be given'],
      [{ command: undefined, url: 'https://example.com/', env: { TOKEN: 'a' } }, 'env goes with a command'],
    ] as const) {
      const sent = { name: 'refused', command: 'memory', ...body };
      const refused = await send('POST', ofCompany('mcp-servers'), sent);
      expect([refused.status, refused.body]).toEqual([400, { error: expect.stringContaining(error) }]);
    }
    const server = await add('fixed', { enabled: false });
    const own = `/api/mcp-servers/${server.id}`;
    for (const [body, error] of [
      [{ url: 'https://example.com/mcp' }, 'url: the server is a program'],
      [{ env: { PATH: '/workspace' } }, "env.PATH can't be set for memory"],
    ] as const)
      expect(await send('PATCH', own, body)).toEqual({ status: 400, body: { error } });
    await api('PATCH', own, { env: { MODE: 'a' } });
    // Another program must not receive values meant for the previous one.
    expect((await send('PATCH', own, { command: 'gone' })).status).toBe(400);
    expect((await send('POST', `${own}/tools/call`, { tool: 'around' })).status).toBe(409);
    for (const who of ['agent', 'board_member'] as const) {
      expect(
        (await send('POST', ofCompany('mcp-servers'), { name: 'x', command: 'memory' }, who)).status,
      ).toBe(403);
      expect((await send('POST', `${own}/tools/call`, { tool: 'around' }, who)).status).toBe(403);
    }
    expect((await send('POST', `${own}/tools/call`, { tool: 'around' }, 'foreign_board')).status).toBe(404);
    await api('DELETE', own);
  });

  it('runs once for all callers of two schedulers, and with its files elsewhere when its scheduler stops', async () => {
    const server = await refresh(await add('shared'));
    const seen = await Promise.all(Array.from({ length: 12 }, async () => around(server)));
    expect(new Set(seen.map(({ instance }) => instance)).size).toBe(1);
    expect(await answer(server, 'remember', { fact: 'one' })).toBe('one\n');
    const first = await holder(server);
    await schedulers[first!]!.stop();
    const { [first!]: _, ...others } = schedulers;
    schedulers = others;
    expect((await around(server)).instance).not.toBe(seen[0]!.instance);
    expect(await holder(server)).toBe(Object.keys(others)[0]);
    expect(await answer(server, 'remember', { fact: 'two' })).toBe('one\ntwo\n');
    schedulers[first!] = await startScheduler({ config, logger: testLogger(), instance_name: first! });
    await api('PATCH', `/api/mcp-servers/${server.id}`, { enabled: false });
    await waitFor(async () => (await holder(server)) === null);
    const workspace = join(home, 'workspaces', server.id);
    expect(existsSync(join(workspace, 'facts.txt'))).toBe(true);
    await api('DELETE', `/api/mcp-servers/${server.id}`);
    await sweepPlugins({ config, database: db.database, logger: testLogger() } as never);
    expect(existsSync(workspace)).toBe(false);
  });

  it('that crashes fails the call with its last words, starts again with the next, and is left alone after three', async () => {
    const server = await refresh(await add('fragile', { timeout_seconds: 3 }));
    const instances = [];
    for (let crash = 1; crash <= 3; crash += 1) {
      instances.push((await around(server)).instance);
      const { status, body } = await tried(server, 'crash');
      expect([status, body]).toEqual([
        503,
        { error: 'fragile: its program failed: it ended by itself, with code 7' },
      ]);
    }
    expect(new Set(instances).size).toBe(3);
    expect(await tried(server, 'around')).toMatchObject({
      status: 503,
      body: { error: expect.stringContaining('is paused for a while') },
    });
    await api('DELETE', `/api/mcp-servers/${server.id}`);
  });

  it('that hangs fails the call in its time, is found not to answer at all, and started again', async () => {
    const server = await refresh(await add('stuck', { timeout_seconds: 3 }));
    // Its server does not describe this tool.
    await waitFor(async () => {
      const { body } = await send('POST', `/mcp/${cast.company_id}`, rpc('tools/list'), 'agent');
      return JSON.stringify(body).includes('"description":"hang, a tool of stuck."');
    });
    const before = (await around(server)).instance;
    expect(await tried(server, 'hang')).toEqual({ status: 503, body: { error: 'stuck: no answer in 3 s' } });
    const after = await waitFor(async () => {
      const { status, body } = await tried(server, 'around', { path: '/', port: 1 });
      return status === 200 && (JSON.parse((body as { answer: string }).answer) as { instance: string });
    });
    expect(after.instance).not.toBe(before);
    await api('DELETE', `/api/mcp-servers/${server.id}`);
  });

  it('that does not start says why, without the secret that it was told', async () => {
    const broken = await add('broken', { env: { MODE: 'broken', TOKEN: '${secret:MEMORY}' } });
    expect(await refresh(broken)).toMatchObject({
      status: 'failing',
      last_error:
        'its program failed: it ended by itself, with code 3; it last wrote: could not start: bad token [redacted]',
    });
    await api('DELETE', `/api/mcp-servers/${broken.id}`);
    const gone = await refresh(await add('gone', { command: 'gone' }));
    expect(gone).toMatchObject({
      status: 'failing',
      last_error: 'the program gone is not installed where schedulers run',
    });
    await api('DELETE', `/api/mcp-servers/${gone.id}`);
  });
});
