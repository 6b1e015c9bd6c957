import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import path from 'node:path';
import { markedProcesses } from '@acp/adapters';
import {
  cloneDatabase,
  fakeCliCommand,
  fakeCliJournal,
  killServices,
  processesIn,
  startService,
  waitFor,
  type FakeCliCall,
  type TestDatabase,
} from '@acp/testkit';
import { baseEnv, killScheduler, signIn, type Api } from './api.ts';

// Agents' programs outlive whatever started them unless someone kills them: these tests check that someone does.
let db: TestDatabase;
let folder: string;

beforeAll(async () => {
  db = await cloneDatabase('programs');
  folder = await mkdtemp('/var/tmp/programs-test-');
});

afterAll(async () => {
  await killServices();
  await rm(folder, { recursive: true, force: true });
});

async function env(calls: FakeCliCall[]): Promise<Record<string, string>> {
  const script = path.join(folder, 'script.json');
  await writeFile(script, JSON.stringify({ calls }));
  const command = fakeCliCommand('a', script).map((word) => `"${word}"`);
  return {
    ...baseEnv,
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_CLI_A_COMMAND: command.join(' '),
    SERVICE_LOCAL_CLI: 'host',
  };
}

interface Team {
  company: { id: string };
  agent: { id: string };
  home: string;
}

/** A connection to the database that can go silent, with all sockets open. */
async function openCable(url: string): Promise<{ url: string; cut: () => void; close: () => Promise<void> }> {
  const target = new URL(url);
  const sockets: Socket[] = [];
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    sockets.push(near, far);
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: through.href,
    cut: () => {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
      server.removeAllListeners('connection');
      server.on('connection', (socket) => sockets.push(socket));
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function hire(api: Api, root = path.join(folder, 'home')): Promise<Team> {
  const slug = `team-${Date.now()}`;
  const company = await api.call<{ id: string }>('POST', '/api/companies', { name: 'Team', slug });
  const adapter = { adapter_type: 'cli_a_local', adapter_config: { timeout_seconds: 600 } };
  const body = { name: 'Ada', heartbeat_enabled: false, ...adapter };
  const agent = await api.call<{ id: string }>('POST', `/api/companies/${company.id}/agents`, body);
  return { company, agent, home: path.join(root, 'companies', company.id, 'agents', agent.id) };
}

const invoke = async (api: Api, { agent }: Team) =>
  api.call<{ id: string }>('POST', `/api/agents/${agent.id}/heartbeat/invoke`);
const alive = async (id: string) => (await markedProcesses()).filter(({ run_id }) => run_id === id).length;

async function firstCall(team: Team): Promise<void> {
  await waitFor(async () => (await fakeCliJournal(team.home)).length > 0, {
    what: 'the program',
  });
}

describe('a service with a program at work', () => {
  it('waits for it however often one Ctrl-C arrives, and at a second one leaves neither it nor a database', async () => {
    const home = path.join(folder, 'embedded');
    const { DATABASE_URL: _, ...settings } = await env([{ hang: 'stubborn', stray: true }]);
    const service = await startService({ ...settings, SERVICE_HOME: home, SERVICE_DRAIN_TIMEOUT_SEC: '60' });
    const team = await hire(await signIn(service), home);
    const { id } = await invoke(await signIn(service), team);
    await firstCall(team);
    for (const signal of ['SIGINT', 'SIGINT', 'SIGHUP'] as const) service.kill(signal);
    await service.logged('stopping');
    // A deliberate second signal arrives a moment later.
    const told = performance.now();
    await waitFor(() => performance.now() - told > 1200);
    expect(service.log.filter(({ message }) => message === 'stopping at once')).toEqual([]);
    expect(await alive(id)).toBeGreaterThanOrEqual(2);
    service.kill('SIGINT');
    expect(await service.ended).toEqual({ code: 1, signal: null });
    expect(service.log.map(({ message }) => message)).toContain('stopping at once');
    expect(await alive(id)).toBe(0);
    // In a hurry it doesn't wait for the end of the database that it has told to quit.
    await waitFor(() => processesIn(home).length === 0, { what: 'the end of the database' });
  });

  it('ends in time on SIGTERM although its database has fallen silent', async () => {
    const cable = await openCable(db.url);
    const settings = await env([{ hang: 'stubborn', stray: true }]);
    const service = await startService({
      ...settings,
      DATABASE_URL: cable.url,
      SERVICE_DRAIN_TIMEOUT_SEC: '1',
    });
    const api = await signIn(service);
    const team = await hire(api);
    const { id } = await invoke(api, team);
    await firstCall(team);
    cable.cut();
    service.kill('SIGTERM');
    const ended = service.ended.then(({ signal }) => signal ?? 'by itself');
    // Four times the limit, for slow machines; if the database held it up, it would take minutes.
    expect(await Promise.race([ended, delay(25_000, 'not at all', { ref: false })])).toBe('by itself');
    expect(await alive(id)).toBe(0);
    await cable.close();
  });
});

describe('programs of agents', () => {
  it('of a service that was killed are killed by the next one, and the run is tried again', async () => {
    const settings = await env([{ hang: 'stubborn', stray: true }, { texts: ['ok'] }]);
    const first = await startService(settings);
    const api = await signIn(first);
    const team = await hire(api);
    const { id } = await invoke(api, team);
    await firstCall(team);
    await killScheduler(db, first);
    expect(await alive(id)).toBeGreaterThanOrEqual(2);

    const second = await startService(settings);
    await waitFor(async () => (await alive(id)) === 0, {
      what: 'the end of the programs',
    });
    await waitFor(async () => (await fakeCliJournal(team.home)).length === 2, {
      what: 'the second attempt',
    });
    await second.stop();
  });

  it('are gone when the service has stopped', async () => {
    const service = await startService(await env([{ hang: 'stubborn', stray: true }]));
    const api = await signIn(service);
    const team = await hire(api);
    const { id } = await invoke(api, team);
    await firstCall(team);
    expect(await service.stop()).toEqual({ code: 0, signal: null });
    expect(await alive(id)).toBe(0);
  });

  it('are tried by a member over HTTP, and their sessions dropped', async () => {
    const service = await startService(await env([{ texts: ['ok'] }]));
    const api = await signIn(service);
    const team = await hire(api);
    const at = `/api/companies/${team.company.id}/agents/${team.agent.id}`;
    expect(await api.call('POST', `${at}/test-adapter`)).toMatchObject({ ok: true, detail: 'answered: ok' });
    const { id } = await invoke(api, team);
    const ended = async () => (await api.call<{ status: string }>('GET', `/api/heartbeat-runs/${id}`)).status;
    await waitFor(async () => (await ended()) === 'succeeded', { what: 'the end of the run' });
    const state = `/api/agents/${team.agent.id}/runtime-state`;
    expect(await api.call('GET', state)).toMatchObject({ session_id: expect.any(String) });
    expect((await api.send('POST', `${at}/clear-session`)).status).toBe(204);
    expect(await api.call('GET', state)).toMatchObject({ session_id: null, session_cwd: null });
    const elsewhere = `/api/companies/${team.agent.id}/agents/${team.agent.id}/test-adapter`;
    expect((await api.send('POST', elsewhere)).status).toBe(404);
    expect(await readFile(path.join(team.home, 'fake-cli.jsonl'), 'utf8')).not.toContain('postgres://');
    await service.stop();
  });
});
