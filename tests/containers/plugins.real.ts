// Plugins in a real container engine: the same escape attempts as in bubblewrap. Run by `npm run test:containers`.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { cloneDatabase, killServices, type ServiceProcess, startService, waitFor } from '@acp/testkit';
import { type Operator, pluginOperator } from '../plugins/operator.ts';
import { bounds, isBounded, shutIn, tryToEscape } from '../plugins/shut-in.ts';
import { type Api, baseEnv, createTeam, signIn } from '../process/api.ts';

const engine = (process.env.CONTAINER_CLI ?? '').split(' ');
const hasNode = process.env.CONTAINER_TEST_NODE === 'yes';

/** An MCP server that needs only Node: the image has no libraries. */
const counter = `
  const answers = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'counter', version: '1' },
    }),
    ping: () => ({}),
    'tools/list': () => ({ tools: [{ name: 'count', inputSchema: { type: 'object' } }] }),
    'tools/call': async ({ arguments: { port } }) => {
      const { appendFileSync, existsSync, readFileSync, writeFileSync } = require('node:fs');
      appendFileSync('/workspace/calls', 'x');
      const attempt = (work) => { try { work(); return 'done'; } catch ({ code }) { return code; } };
      const network = await fetch('http://127.0.0.1:' + port).then(() => 'reached', () => 'refused');
      const seen = {
        calls: readFileSync('/workspace/calls', 'utf8').length,
        network,
        root: attempt(() => writeFileSync('/etc/x', '')),
        token: process.env.TOKEN,
        pid: process.pid < 20,
      };
      return { content: [{ type: 'text', text: JSON.stringify(seen) }] };
    },
  };
  require('node:readline').createInterface(process.stdin).on('line', async (line) => {
    const { id, method, params } = JSON.parse(line);
    const result = id === undefined ? undefined : await answers[method]?.(params);
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });`;

let home: string;
let api: Api;
let company_id: string;
let outside: Server;
let operator: Operator;
let env: Record<string, string>;
let scheduler: ServiceProcess;

beforeAll(async () => {
  const db = await cloneDatabase('container_plugins');
  home = await mkdtemp('/var/tmp/container-plugins-');
  await writeFile(path.join(home, 'secret'), 'of the host');
  outside = createServer((_, response) => response.end('reached')).listen(0, '0.0.0.0');
  await once(outside, 'listening');
  const passed = ['HOME', 'DOCKER_HOST', 'CONTAINERS_CONF', 'XDG_RUNTIME_DIR'].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]]],
  );
  env = {
    ...(Object.fromEntries(passed) as Record<string, string>),
    ...baseEnv,
    ...bounds,
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(home, 'service'),
    SERVICE_CONTAINER_CLI: engine.join(' '),
    SERVICE_PLUGIN_SANDBOX: 'container',
    SERVICE_PLUGIN_SANDBOX_IMAGE: process.env.CONTAINER_TEST_IMAGE ?? '',
    SERVICE_PLUGIN_WORKSPACE_ROOT: path.join(home, 'workspaces'),
    SERVICE_ENCRYPTION_KEY: '7'.repeat(64),
    SERVICE_MCP_COMMANDS: JSON.stringify({
      counter: {
        // An argument must be a single line.
        command: ['/usr/bin/node', '-e', counter.replaceAll('\n', ' ')],
        image: process.env.CONTAINER_TEST_IMAGE ?? '',
        env: ['TOKEN'],
      },
    }),
  };
  const web = await startService({ ...env, SERVICE_ROLE: 'web' });
  scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' });
  api = await signIn(web);
  ({ company_id } = await createTeam(api, []));
  operator = pluginOperator(api, company_id);
}, 60_000);

afterAll(async () => {
  await killServices();
  outside.close();
  await rm(home, { recursive: true, force: true });
});

const containers = (): string[] => {
  const [program = '', ...args] = engine;
  const list = [...args, 'ps', '--all', '--filter=label=service.plugin', '--format={{.Names}}'];
  return execFileSync(program, list, { encoding: 'utf8' }).split('\n').filter(Boolean);
};

const whereThereIsNode: typeof describe.skip = hasNode ? describe : describe.skip;

whereThereIsNode('a plugin in a container', () => {
  it('gets out of none of its walls, and nothing of it stays', async () => {
    const plugin = await operator.running();
    expect(plugin).toMatchObject({ sandbox: 'container' });
    const { port } = outside.address() as AddressInfo;
    const outwards = { port, secret_file: path.join(home, 'secret') };
    expect(await tryToEscape(plugin, operator, outwards)).toEqual(shutIn);
    expect(await isBounded(plugin, operator, 'it ended by itself')).toBe(true);
    await waitFor(async () => (await operator.look(plugin)).state === 'running', { timeout_ms: 30_000 });
    // The container of a killed scheduler stays until the next owner starts its own.
    scheduler.kill('SIGKILL');
    scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' });
    const echoed = async () => operator.result(plugin, 'echo', { text: 'again' }).catch(() => undefined);
    expect(await waitFor(echoed, { timeout_ms: 40_000 })).toMatchObject({ text: 'again' });
    await waitFor(() => containers().length === 1);
    expect(await operator.remove(plugin)).toBe(204);
    await waitFor(() => containers().length === 0);
  }, 120_000);
});

whereThereIsNode('an MCP program in a container', () => {
  it('answers from within its walls, keeps its folder, and leaves no container behind', async () => {
    const own = `/api/companies/${company_id}`;
    await api.call('POST', `${own}/secrets`, { name: 'COUNTER', value: 'counter-token-0123456789' });
    const env_of_it = { TOKEN: '${secret:COUNTER}' };
    const made = { name: 'counter', command: 'counter', env: env_of_it };
    const { id } = await api.call<{ id: string }>('POST', `${own}/mcp-servers`, made);
    expect(await api.call('POST', `/api/mcp-servers/${id}/refresh`)).toMatchObject({
      status: 'healthy',
      tool_count: 1,
    });
    const { port } = outside.address() as AddressInfo;
    const count = async () => {
      const call = { tool: 'count', input: { port } };
      const response = await api.send('POST', `/api/mcp-servers/${id}/tools/call`, call);
      return response.ok ? ((await response.json()) as { answer: string }).answer : undefined;
    };
    const seen = (calls: number) => ({
      calls,
      network: 'refused',
      root: 'EROFS',
      token: '[secret]',
      pid: true,
    });
    const first = JSON.parse((await count())!) as Record<string, unknown>;
    expect({ ...first, token: '[secret]' }).toEqual(seen(1));
    expect(JSON.stringify(first)).not.toContain('counter-token');
    expect(containers()).toHaveLength(1);
    // The container of a killed scheduler stays until the next owner starts its own.
    scheduler.kill('SIGKILL');
    scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' });
    const again = await waitFor(count, { timeout_ms: 40_000 });
    expect(JSON.parse(again)).toMatchObject({ network: 'refused', root: 'EROFS' });
    await waitFor(() => containers().length === 1);
    await api.call('PATCH', `/api/mcp-servers/${id}`, { enabled: false });
    await waitFor(() => containers().length === 0, { timeout_ms: 20_000 });
  }, 120_000);
});
