import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processesIn, signalProcessesIn, startService } from '@acp/testkit';
import { admin, baseEnv, createTeam, signIn } from './api.ts';

let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'acp-home-'));
});

afterAll(async () => {
  signalProcessesIn(home, 'SIGKILL');
  await rm(home, { recursive: true, force: true });
});

it('an instance with an embedded database recovers after a kill -9 of everything, and leaves no process behind on SIGTERM', async () => {
  const env = { ...baseEnv, SERVICE_HOME: home };
  const first = await startService(env);
  const team = await createTeam(await signIn(first), ['Ada']);

  expect(processesIn(home)).not.toEqual([]);
  first.kill('SIGKILL');
  signalProcessesIn(home, 'SIGKILL');
  expect((await first.ended).signal).toBe('SIGKILL');

  const second = await startService(env);
  const api = await signIn(second);
  const { agents } = await api.call<{ agents: { id: string }[] }>('GET', '/api/agents');
  expect(agents.map(({ id }) => id)).toEqual(team.agents.map(({ id }) => id));

  // A second process with the same home shares the server; the last one to exit stops it.
  const third = await startService({ ...env, SERVICE_ROLE: 'web' });
  expect(await second.stop()).toEqual({ code: 0, signal: null });
  expect((await signIn(third)).cookie).toMatch(/^service_session=/);
  expect(processesIn(home)).not.toEqual([]);
  expect(await third.stop()).toEqual({ code: 0, signal: null });
  expect(processesIn(home)).toEqual([]);
  expect(third.output()).not.toContain(admin.password);
});
