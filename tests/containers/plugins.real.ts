// Plugins in a real container engine: the same attempts to get out as in bubblewrap. Run by `npm run test:containers`.
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
import { baseEnv, createTeam, signIn } from '../process/api.ts';

const engine = (process.env.CONTAINER_CLI ?? '').split(' ');
const hasNode = process.env.CONTAINER_TEST_NODE === 'yes';

let home: string;
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
  };
  const web = await startService({ ...env, SERVICE_ROLE: 'web' });
  scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' });
  const api = await signIn(web);
  operator = pluginOperator(api, (await createTeam(api, [])).company_id);
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
    // Of a scheduler that is killed the container stays, until the next holder starts its own.
    scheduler.kill('SIGKILL');
    await startService({ ...env, SERVICE_ROLE: 'scheduler' });
    const echoed = async () => operator.result(plugin, 'echo', { text: 'again' }).catch(() => undefined);
    expect(await waitFor(echoed, { timeout_ms: 40_000 })).toMatchObject({ text: 'again' });
    await waitFor(() => containers().length === 1);
    expect(await operator.remove(plugin)).toBe(204);
    await waitFor(() => containers().length === 0);
  }, 120_000);
});
