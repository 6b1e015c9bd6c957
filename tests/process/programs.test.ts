import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { startService, waitFor } from '@acp/testkit';
import { signIn } from './api.ts';
import { invoke, ProgramsStage } from './programs-stage.ts';

let stage: ProgramsStage;

beforeAll(async () => {
  stage = await ProgramsStage.set();
});

afterAll(() => stage.strike());

it('programs of agents are tried by a member over HTTP, and their sessions dropped', async () => {
  const service = await startService(await stage.env([{ texts: ['ok'] }]));
  const api = await signIn(service);
  const team = await stage.hire(api);
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
