/** A prompt is evolved on real work through two tiers, and its scheduler dies on the way: no step that was done is made again. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Agent, Comment, Issue, PromptEvolution, PromptVersion, Run } from '@acp/contract';
import {
  cloneDatabase,
  type FakeModel,
  type FakeModelRequest,
  killServices,
  startFakeModel,
  startService,
  type TestDatabase,
  waitFor,
} from '@acp/testkit';
import { standIn } from '../evolutions/history.ts';
import { type Api, baseEnv, createTeam, modelEnv, signIn } from './api.ts';

let db: TestDatabase;
let model: FakeModel;
let api: Api;
let env: Record<string, string>;

beforeAll(async () => {
  db = await cloneDatabase('evolutions_killed');
  model = await startFakeModel();
  env = { ...baseEnv, ...modelEnv(model.url), DATABASE_URL: db.url };
  api = await signIn(await startService({ ...env, SERVICE_ROLE: 'web' }));
});
afterAll(async () => {
  await killServices();
  await model.close();
});

const promptOf = ({ messages }: FakeModelRequest) => ({
  system: messages[0]!.content,
  user: messages.at(-1)!.content,
});

it('raises the scores from the agent’s own issues, goes on after a kill, and activates what is better by a margin', async () => {
  model.setScript((request) => standIn(promptOf(request)));
  let scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' });
  const { company_id, agents } = await createTeam(api, ['Ada'], {
    system_prompt: 'You answer.',
    max_concurrent_runs: 4,
    gepa_auto_promote: true,
  });
  const agent_id = agents[0]!.id;
  const evolve = `/api/agents/${agent_id}/evolve-prompt`;
  expect((await api.send('POST', evolve)).status).toBe(404);
  await api.call('PUT', '/api/admin/flags/prompt_evolution', { value: true });
  await waitFor(async () => (await api.send('POST', evolve)).status === 409);
  const issues = await Promise.all(
    Array.from({ length: 13 }, async (_, n) =>
      api.call<Issue>('POST', `/api/companies/${company_id}/issues`, {
        title: `Letter ${n}`,
        body_markdown: 'Answer it.',
        assignee_agent_id: agent_id,
        status: 'todo',
      }),
    ),
  );
  await waitFor(async () => {
    const all = await api.call<Issue[]>('GET', `/api/companies/${company_id}/issues?status=done`);
    const live = await api.call<Run[]>(
      'GET',
      `/api/companies/${company_id}/heartbeat-runs?agentId=${agent_id}&status=queued,running`,
    );
    return all.length === issues.length && live.length === 0;
  });

  const answered = new Map<string, number>();
  let stalled = 0;
  model.setScript((request) => {
    const prompt = promptOf(request);
    const key = `${prompt.system}\n${prompt.user}`;
    answered.set(key, (answered.get(key) ?? 0) + 1);
    // In the middle of its first steps one call hangs, and with it the scheduler will die.
    if (answered.size === 9 && stalled === 0) {
      stalled += 1;
      return { chunks: ['Dear '], stall: 'end' };
    }
    return standIn(prompt);
  });
  const begun = await api.call<PromptEvolution>('POST', evolve, { max_rollouts: 30 });
  const evolution = async () => api.call<PromptEvolution>('GET', `/api/prompt-evolutions/${begun.id}`);
  const scoresOf = ({ instances }: PromptEvolution) => instances.flatMap(({ scores }) => scores);
  await waitFor(async () => stalled === 1 && scoresOf(await evolution()).length >= 3);
  scheduler.kill('SIGKILL');
  await scheduler.ended;
  const before = scoresOf(await evolution()).map(({ run_id }) => run_id);
  scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' });

  const over = await waitFor(async () => {
    const seen = await evolution();
    return seen.status !== 'running' && seen;
  });
  expect([over.status, over.error, over.version_number]).toEqual(['completed', null, 2]);
  expect(over.candidates.map(({ score }) => score)).toEqual([0.25, 0.5]);
  // What was done before the kill is what counts after it; only calls that were under way were made again.
  expect(scoresOf(over).map(({ run_id }) => run_id)).toEqual(expect.arrayContaining(before));
  const again = [...answered.values()].filter((times) => times > 1);
  expect(again.length).toBeGreaterThan(0);
  expect(again.length).toBeLessThanOrEqual(4);
  expect(over.rollouts).toBe(26);

  const agent = await api.call<Agent>('GET', `/api/agents/${agent_id}`);
  expect(agent).toMatchObject({
    current_prompt_version_number: 2,
    system_prompt: 'You answer. Sign what you write.',
  });
  const versions = await api.call<PromptVersion[]>('GET', `/api/agents/${agent_id}/prompt-versions`);
  expect(versions[0]).toMatchObject({ source: 'gepa', score: 0.5, parent_version_number: 1 });
  const [comments] = await Promise.all(
    issues.slice(0, 1).map(async ({ id }) => api.call<Comment[]>('GET', `/api/issues/${id}/comments`)),
  );
  expect(comments).toHaveLength(1);
});
