/**
 * A company's host list across two tiers: edited on its page, enforced by a scheduler everywhere, reported where people look.
 * @in-order at the end, its page tells what the other tests were refused
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { McpServer, Plugin, RemoteTask, Run } from '@acp/contract';
import { fakeCliCommand, spawnWorker, waitFor, needsBubblewrap } from '@acp/testkit';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pluginOperator } from '../plugins/operator.ts';
import { createTeam, startTwoTiers, type TwoTiers } from './api.ts';

const withBubblewrap = await needsBubblewrap(describe);
const REFUSED = 'the company’s list of hosts does not have it';

let tiers: TwoTiers;
let folder: string;
let listed: Place;
let other: Place;
/** The proxy for programs of remote workers: answers in the place of whatever it is asked for. */
let way: Place;
let company_id: string;

interface Place {
  host: string;
  /** Requested paths. */
  asked: string[];
  server: Server;
}

async function place(): Promise<Place> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    request.resume().on('end', () => response.writeHead(200).end('{}'));
  });
  // As a proxy, it is at the other end of every tunnel.
  server.on('connect', ({ url }, socket) => {
    asked.push(`tunnel to ${url}`);
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    server.emit('connection', socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server };
}

beforeAll(async () => {
  [listed, other, way] = [await place(), await place(), await place()];
  folder = await mkdtemp('/var/tmp/egress-tiers-');
  const script = path.join(folder, 'script.json');
  const asks = `for (const url of ['http://public.example/', 'http://${other.host}/program']) await fetch(url).catch(() => null);`;
  await writeFile(
    script,
    JSON.stringify({ calls: [{ sh: `node --input-type=module -e "${asks}"`, texts: ['ok'] }] }),
  );
  const both = `${listed.host},${other.host}`;
  tiers = await startTwoTiers('egress_tiers', {
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    SERVICE_WEBHOOK_ALLOWED_HOSTS: both,
    SERVICE_MCP_ALLOWED_HOSTS: 'localhost',
    SERVICE_LAMBDA_ENDPOINT: `http://${other.host}`,
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'secret',
    SERVICE_CLI_A_COMMAND: fakeCliCommand('a', script)
      .map((word) => `"${word}"`)
      .join(' '),
    SERVICE_LOCAL_CLI_EGRESS: both,
    SERVICE_COMPANY_EGRESS: 'listed',
    SERVICE_PLUGIN_WORKSPACE_ROOT: path.join(folder, 'plugins'),
    SERVICE_REMOTE_EGRESS_PROXY: `http://${way.host}`,
    SERVICE_REMOTE_EGRESS_DNS_ADDR: '10.0.0.53:5353',
  });
  await tiers.startScheduler();
  ({ company_id } = await createTeam(tiers.api, []));
  const { host } = new URL(tiers.model.url);
  const hosts = [listed.host, host, 'public.example:80'].join('\n');
  const saved = await fetch(`${tiers.web.url}/companies/${company_id}/egress`, {
    method: 'POST',
    headers: { cookie: tiers.api.cookie },
    body: new URLSearchParams({ hosts, version: '0' }),
    redirect: 'manual',
  });
  if (saved.status !== 303) throw new Error(`the list was not saved: ${await saved.text()}`);
});
afterAll(async () => {
  await tiers.stop();
  for (const { server } of [listed, other, way]) {
    server.closeAllConnections();
    server.close();
  }
  await rm(folder, { recursive: true, force: true });
});

const own = (rest: string) => `/api/companies/${company_id}/${rest}`;
const agent = async (name: string, values: object) =>
  tiers.api.call<{ id: string }>('POST', own('agents'), { name, role: 'engineer', ...values });
const run = async ({ id }: { id: string }): Promise<Run> => {
  const begun = await tiers.api.call<Run>('POST', `/api/agents/${id}/heartbeat/invoke`, {});
  return waitFor(async () => {
    const now = await tiers.api.call<Run>('GET', `/api/heartbeat-runs/${begun.id}`);
    return now.finished_at === null ? undefined : now;
  });
};
const page = async (rest: string) =>
  (await fetch(`${tiers.web.url}${rest}`, { headers: { cookie: tiers.api.cookie } })).text();

withBubblewrap('the programs of a company with a list', () => {
  it('that are plugins fetch what is listed, and nothing else', async () => {
    const operator = pluginOperator(tiers.api, company_id);
    const plugin: Pick<Plugin, 'id'> & Awaited<ReturnType<typeof operator.running>> =
      await operator.running();
    const { error } = await operator.host(plugin, 'http_fetch', { url: 'https://elsewhere.example/' });
    expect(JSON.stringify(error)).toContain(REFUSED);
  });

  it('reach nothing that the operator has not listed, where the operator says so', async () => {
    const ended = await run(await agent('Cli', { adapter_type: 'cli_a_local' }));
    expect(ended).toMatchObject({ status: 'succeeded' });
    const shown = await page(`/runs/${ended.id}`);
    for (const host of ['public.example', other.host]) expect(shown).toContain(host);
  });
});

withBubblewrap('the programs of a remote worker', () => {
  it('reach what is listed through the operator’s proxy, and nothing in another way; the run shows what was refused', async () => {
    const script = path.join(folder, 'remote.json');
    // Through the proxy it is told of, straight to addresses, and by names looked up on its own. Its last words tell how it went.
    const tries = [
      `const net = await import('node:net'); const dns = await import('node:dns/promises'); const got = [];`,
      `for (const url of ['http://public.example/a', 'http://${other.host}/remote', 'http://evil.example/'])`,
      `got.push(await fetch(url).then(({ status }) => status, () => 'failed'));`,
      `for (const [host, port] of ${JSON.stringify([other.host, way.host].map((at) => at.split(':'))).replaceAll('"', "'")})`,
      `got.push(await new Promise((done) => { const one = net.connect({ host, port }, () => { done('open'); one.destroy(); });`,
      `one.on('error', () => done('shut')); setTimeout(() => done('shut'), 2000); }));`,
      `const names = new dns.Resolver({ timeout: 500, tries: 1 }); names.setServers(['10.0.0.53']);`,
      `got.push(await names.resolve4('public.example').then(() => 'open', () => 'shut'));`,
      `await fetch('http://public.example/' + got.join('-'));`,
    ].join(' ');
    await writeFile(
      script,
      JSON.stringify({ calls: [{ sh: `node --input-type=module -e "${tries}"`, texts: ['ok'] }] }),
    );
    const worker = await tiers.api.call<{ api_key: string }>('POST', '/api/workers/register', {
      name: 'caged',
      tags: ['caged'],
    });
    const program = spawnWorker({
      SERVICE_SERVER_URL: tiers.web.url,
      SERVICE_WORKER_KEY: worker.api_key,
      SERVICE_WORKER_NAME: 'caged',
      SERVICE_WORKER_POLL_SEC: '0.2',
      SERVICE_HOME: path.join(folder, 'worker'),
      SERVICE_CLI_A_COMMAND: fakeCliCommand('a', script)
        .map((word) => `"${word}"`)
        .join(' '),
    });
    const adapter_config = { local_adapter_type: 'cli_a_local', tags: ['caged'] };
    const ended = await run(await agent('Caged', { adapter_type: 'remote', adapter_config }));
    await program.stop();
    expect(ended).toMatchObject({ status: 'succeeded', error: null });
    const tunnels = way.asked.filter((what) => what.startsWith('tunnel'));
    expect(new Set(tunnels)).toEqual(new Set(['tunnel to public.example:80']));
    expect(way.asked.filter((what) => !tunnels.includes(what))).toEqual([
      '/a',
      '/200-failed-failed-shut-shut-shut',
    ]);
    for (const shown of [await page(`/runs/${ended.id}`), await page(`/companies/${company_id}/egress`)])
      for (const host of [other.host.split(':')[1]!, 'evil.example']) expect(shown).toContain(host);
  });
});

describe('a company with a list', () => {
  it('gets its words to a listed model, and to no other; the page of the run says where they were kept back', async () => {
    expect(await run(await agent('Ada', {}))).toMatchObject({ status: 'succeeded' });
    const { id: provider_id } = await tiers.api.call<{ id: string }>('POST', own('providers'), {
      name: 'elsewhere',
      adapter_type: 'family_compat',
      api_key: 'key',
      base_url: `http://${other.host}/v1`,
    });
    const ended = await run(await agent('Bob', { provider_id, model: 'm' }));
    expect(ended).toMatchObject({ status: 'failed', error: expect.stringContaining(REFUSED) });
    expect(await page(`/runs/${ended.id}`)).toContain(other.host);
  });

  it('calls no function whose endpoint is not listed', async () => {
    const ada = await agent('Lam', { adapter_type: 'lambda', adapter_config: { function_name: 'agent' } });
    expect(await run(ada)).toMatchObject({ status: 'failed', error: expect.stringContaining(REFUSED) });
  });

  it('sends webhooks to listed hosts alone', async () => {
    const hooks = await Promise.all(
      [listed, other].map(async ({ host }) =>
        tiers.api.call<{ id: string }>('POST', own('webhooks'), {
          url: `http://${host}/hook`,
          events: ['issue.created'],
        }),
      ),
    );
    await tiers.api.call('POST', own('issues'), { title: 'Paint' });
    const [sent, kept] = await Promise.all(
      hooks.map(async ({ id }) =>
        waitFor(async () => {
          const [first] = await tiers.api.call<{ attempts: number; status: string; error: string | null }[]>(
            'GET',
            `/api/webhooks/${id}/deliveries`,
          );
          return first !== undefined && first.attempts > 0 ? first : undefined;
        }),
      ),
    );
    expect([sent!.status, kept!.error]).toEqual(['delivered', expect.stringContaining(REFUSED)]);
    expect(listed.asked).toContain('/hook');
  });

  it('asks no MCP server and no peer that is not listed', async () => {
    const made = await tiers.api.call<McpServer>('POST', own('mcp-servers'), {
      name: 'tracker',
      // Uses another name: each host and port has a single row, with the first requester.
      url: `http://${other.host.replace('127.0.0.1', 'localhost')}/mcp`,
    });
    const server = await waitFor(async () => {
      const now = await tiers.api.call<McpServer>('GET', `/api/mcp-servers/${made.id}`);
      return now.last_error === null ? undefined : now;
    });
    expect(server.last_error).toContain(REFUSED);
    const peer = await tiers.api.call<{ id: string }>('POST', own('a2a/peers'), {
      label: 'friend',
      url: `http://${other.host}/a2a`,
      api_key: 'sk_1',
    });
    const fetched = await waitFor(async () => {
      const now = await tiers.api.call<{ last_fetch_error: string | null }>(
        'GET',
        `/api/a2a/peers/${peer.id}`,
      );
      return now.last_fetch_error === null ? undefined : now;
    });
    expect(fetched.last_fetch_error).toContain(REFUSED);
  });

  it('has its list and the operator’s proxy told to remote workers; one without a list has none of it told', async () => {
    const worker = await tiers.api.call<{ api_key: string }>('POST', '/api/workers/register', {
      name: 'far',
      tags: [],
    });
    const claim = async () =>
      waitFor(async () => {
        const response = await fetch(`${tiers.web.url}/api/workers/tasks/claim`, {
          method: 'POST',
          headers: { authorization: `Bearer ${worker.api_key}`, 'content-type': 'application/json' },
          body: '{}',
        });
        return response.status === 200 ? ((await response.json()) as RemoteTask) : undefined;
      });
    const far = await agent('Far', { adapter_type: 'remote' });
    await tiers.api.call('POST', `/api/agents/${far.id}/heartbeat/invoke`, {});
    expect((await claim()).payload).toMatchObject({
      egress_allowlist: expect.arrayContaining([listed.host, 'public.example:80']),
      egress_proxy: `http://${way.host}`,
      egress_dns_addr: '10.0.0.53:5353',
    });
    const open = await createTeam(tiers.api, ['Open'], { adapter_type: 'remote' });
    await tiers.api.call('POST', `/api/agents/${open.agents[0]!.id}/heartbeat/invoke`, {});
    const { payload } = await claim();
    expect(Object.keys(payload).filter((key) => key.startsWith('egress'))).toEqual([]);
  });

  it('reaches nothing that is not listed, and its page tells what asked', async () => {
    expect(other.asked).toEqual([]);
    const shown = await page(`/companies/${company_id}/egress`);
    for (const door of ['model', 'function', 'webhook', 'mcp'])
      expect([door, shown.includes(door)]).toEqual([door, true]);
  });
});
