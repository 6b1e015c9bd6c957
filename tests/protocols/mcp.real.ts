/** The conformance suite of the Model Context Protocol against the endpoint: what of it a server without its sample tools can pass. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createLogger, loadConfig } from '@acp/kernel';
import { databaseWithQueue, testDatabase } from '@acp/testkit';
import { createApp } from '../../apps/web/src/app.ts';
import { InstanceState } from '../../apps/web/src/http/instance-state.ts';
import { listen, type WebServer } from '../../apps/web/src/http/server.ts';
import { createServices } from '../../apps/web/src/http/services.ts';
import { createCast } from '../http/cast.ts';
import { createStage } from '../http/stage.ts';

const suite = path.resolve(import.meta.dirname, '../../node_modules/.bin/conformance');

/** The others call tools, prompts and resources that only the suite's sample servers have, or look at sessions, of which there are none. */
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
  // The suite has no keys: whatever it asks is asked with one.
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

describe.each(Object.entries(scenarios))('conformance to %s', (version, names) => {
  it.each(names)('%s', async (scenario) => {
    const { code, output } = await run(scenario, version);
    expect(code === 0 ? '' : output).toBe('');
    // A scenario that was left out succeeds too.
    expect(output).toMatch(/Passed: [1-9]\d*\/\d+, 0 failed|[1-9]\d* passed, 0 failed/);
  });
});
