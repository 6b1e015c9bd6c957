import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { markedProcesses } from '@acp/adapters';
import {
  cloneDatabase,
  fakeCliCommand,
  fakeCliJournal,
  killServices,
  startService,
  waitFor,
  type FakeCliCall,
  type TestDatabase,
} from '@acp/testkit';
import { baseEnv, signIn, type Api } from './api.ts';

// Agents' programs outlive what started them, if nobody looks: everything here is about who looks.
let db: TestDatabase;
let folder: string;

beforeAll(async () => {
  db = await cloneDatabase('programs');
  folder = await mkdtemp('/var/tmp/programs-test-');
}, 60_000);

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
  };
}

interface Team {
  company: { id: string };
  agent: { id: string };
  home: string;
}

async function hire(api: Api): Promise<Team> {
  const slug = `team-${Date.now()}`;
  const company = await api.call<{ id: string }>('POST', '/api/companies', { name: 'Team', slug });
  const adapter = { adapter_type: 'cli_a_local', adapter_config: { timeout_seconds: 600 } };
  const body = { name: 'Ada', heartbeat_enabled: false, ...adapter };
  const agent = await api.call<{ id: string }>('POST', `/api/companies/${company.id}/agents`, body);
  return { company, agent, home: path.join(folder, 'home/companies', company.id, 'agents', agent.id) };
}

const invoke = async (api: Api, { agent }: Team) =>
  api.call<{ id: string }>('POST', `/api/agents/${agent.id}/heartbeat/invoke`);
const alive = async (id: string) => (await markedProcesses()).filter(({ run_id }) => run_id === id).length;

async function firstCall(team: Team): Promise<void> {
  await waitFor(async () => (await fakeCliJournal(team.home)).length > 0, {
    timeout_ms: 15_000,
    what: 'the program',
  });
}

describe('programs of agents', () => {
  it('of a service that was killed are killed by the next one, and the run is tried again', async () => {
    const settings = await env([{ hang: 'stubborn', stray: true }, { texts: ['ok'] }]);
    const first = await startService(settings);
    const api = await signIn(first);
    const team = await hire(api);
    const { id } = await invoke(api, team);
    await firstCall(team);
    first.kill('SIGKILL');
    await first.ended;
    expect(await alive(id)).toBeGreaterThanOrEqual(2);

    const second = await startService(settings);
    await waitFor(async () => (await alive(id)) === 0, {
      timeout_ms: 15_000,
      what: 'the end of the programs',
    });
    await waitFor(async () => (await fakeCliJournal(team.home)).length === 2, {
      timeout_ms: 15_000,
      what: 'the second attempt',
    });
    await second.stop();
  }, 60_000);

  it('are gone when the service has stopped', async () => {
    const service = await startService(await env([{ hang: 'stubborn', stray: true }]));
    const api = await signIn(service);
    const team = await hire(api);
    const { id } = await invoke(api, team);
    await firstCall(team);
    expect(await service.stop()).toEqual({ code: 0, signal: null });
    expect(await alive(id)).toBe(0);
  }, 60_000);

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
  }, 60_000);
});
