/** The Model Context Protocol's conformance suite against the endpoint: what a server without its sample tools can pass. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment, createLogger, loadConfig } from '@acp/kernel';
import { databaseWithQueue, testDatabase } from '@acp/testkit';
import { createApp } from '../../apps/web/src/app.ts';
import { InstanceState } from '../../apps/web/src/http/instance-state.ts';
import { listen, type WebServer } from '../../apps/web/src/http/server.ts';
import { createServices } from '../../apps/web/src/http/services.ts';
import { createCast } from '../http/cast.ts';
import { createStage } from '../http/stage.ts';
import { installPackages } from './install-packages.ts';

const execute = promisify(execFile);
const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0';
const suite = path.resolve(import.meta.dirname, '../../node_modules/.bin/conformance');

/** Other scenarios use tools, prompts and resources of the suite's sample servers, or sessions, which do not exist here. */
const scenarios: Readonly<Record<string, readonly string[]>> = {
  '2025-11-25': [
    'server-initialize',
    'ping',
    'logging-set-level',
    'tools-list',
    'tools-call-error',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'tools-list',
    'tools-call-error',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
    'http-header-validation',
    'sep-2164-resource-not-found',
    'server-sse-multiple-streams',
  ],
};

let web: WebServer;
let proxy: Server;
let instance: InstanceState;
let url: string;

beforeAll(async () => {
  const { listener } = await testDatabase();
  const database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  const config = loadConfig({ RATE_LIMIT_RPM: '0' });
  instance = new InstanceState({ database, logger, listener });
  await instance.refresh();
  const services = createServices({ database, config, logger, instance });
  const app = createApp({ database, logger, config, services, listener, validate_responses: true });
  web = await listen(app, { host: '127.0.0.1', port: 0 });
  const cast = await createCast(database);
  await createStage(database, cast);
  // The suite has no keys: the proxy adds one to every request.
  proxy = createServer((asked, answer) => {
    const headers = { ...asked.headers, ...cast.board_admin.headers };
    const passed = request(web.url + (asked.url ?? ''), { method: asked.method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp/${cast.company_id}`;
});

afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  instance.close();
  await web.stop(0);
});

async function run(scenario: string, version: string): Promise<{ code: number | null; output: string }> {
  const args = ['server', '--url', url, '--scenario', scenario, '--spec-version', version];
  const child = spawn(suite, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

describe('the inspector’s command line', () => {
  let folder: string;
  let program: string;

  beforeAll(async () => {
    // 120 packages including a web page, used only here: they are not dependencies of the product.
    folder = await mkdtemp(path.join(tmpdir(), 'mcp-inspector-'));
    await installPackages(folder, INSPECTOR);
    program = path.join(folder, 'node_modules/.bin/mcp-inspector');
  });

  afterAll(async () => rm(folder, { recursive: true, force: true }));

  /** @returns its output, as JSON */
  async function inspect<T>(method: string, ...more: string[]): Promise<T> {
    const args = ['--cli', url, '--transport', 'http', '--method', method, '--format', 'json', ...more];
    const env = childEnvironment({ HOME: folder });
    const { stdout } = await execute(program, args, { env, timeout: 60_000, maxBuffer: 32_000_000 });
    return (JSON.parse(stdout) as { result: T }).result;
  }

  it('lists tools, resources and prompts, calls a tool and reads what it made', async () => {
    const { tools } = await inspect<{ tools: { name: string }[] }>('tools/list');
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['create_note', 'list_issues']));
    const title = 'By the inspector';
    const made = await inspect<{ structuredContent: { id: string; title: string } }>(
      'tools/call',
      '--tool-name',
      'create_note',
      '--tool-arg',
      `title=${title}`,
    );
    expect(made.structuredContent.title).toBe(title);
    const { resources } = await inspect<{ resources: { uri: string; name: string }[] }>('resources/list');
    const { uri } = resources.find(({ uri: each }) => each.endsWith(made.structuredContent.id))!;
    const read = await inspect<{ contents: { text: string }[] }>('resources/read', '--uri', uri);
    expect(read.contents[0]!.text).toContain(title);
    const { resourceTemplates } = await inspect<{ resourceTemplates: object[] }>('resources/templates/list');
    expect(resourceTemplates.length).toBeGreaterThan(3);
    const { prompts } = await inspect<{ prompts: { name: string }[] }>('prompts/list');
    const { messages } = await inspect<{ messages: object[] }>(
      'prompts/get',
      '--prompt-name',
      prompts[0]!.name,
    );
    expect(messages.length).toBeGreaterThan(0);
  });
});

describe.each(Object.entries(scenarios))('conformance to %s', (version, names) => {
  it.each(names)('%s', async (scenario) => {
    const { code, output } = await run(scenario, version);
    expect(code === 0 ? '' : output).toBe('');
    // A skipped scenario also exits successfully.
    expect(output).toMatch(/Passed: [1-9]\d*\/\d+, 0 failed|[1-9]\d* passed, 0 failed/);
  });
});
