/** Prompts evolve and the index is compiled across two tiers whose scheduler dies midway: finished work is not repeated. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type {
  Agent,
  Comment,
  CompiledIndex,
  Issue,
  Note,
  PromptEvolution,
  PromptVersion,
  Run,
} from '@acp/contract';
import {
  cloneDatabase,
  type FakeModel,
  type FakeModelRequest,
  killServices,
  type ServiceProcess,
  startFakeModel,
  startService,
  type TestDatabase,
  waitFor,
} from '@acp/testkit';
import { standIn } from '../evolutions/history.ts';
import { type Api, baseEnv, createTeam, killScheduler, modelEnv, signIn } from './api.ts';

let db: TestDatabase;
let model: FakeModel;
let api: Api;
let url: string;
let scheduler: ServiceProcess;
let env: Record<string, string>;

beforeAll(async () => {
  db = await cloneDatabase('evolutions_killed');
  model = await startFakeModel();
  env = { ...baseEnv, ...modelEnv(model.url), DATABASE_URL: db.url };
  const web = await startService({ ...env, SERVICE_ROLE: 'web' });
  url = web.url;
  api = await signIn(web);
  scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' });
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
    // One of its first calls hangs, and the scheduler will be killed during it.
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
  await killScheduler(db, scheduler);
  const before = scoresOf(await evolution()).map(({ run_id }) => run_id);
  scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' });

  const over = await waitFor(async () => {
    const seen = await evolution();
    return seen.status !== 'running' && seen;
  });
  expect([over.status, over.error, over.version_number]).toEqual(['completed', null, 2]);
  expect(over.candidates.map(({ score }) => score)).toEqual([0.25, 0.5]);
  // What was finished before the kill still counts after it; only calls in flight were repeated.
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

it('the index of a company is compiled, promoted on its page, and stands in the prompts of agents', async () => {
  const { company_id, agents } = await createTeam(api, ['Cleo']);
  const company = `/api/companies/${company_id}`;
  const asked: string[] = [];
  const worked: string[] = [];
  model.setScript((request) => {
    const { system, user } = promptOf(request);
    if (!system.startsWith('You keep the index')) {
      if (user.includes('Use it')) worked.push(user);
      return 'Read.\n/status done';
    }
    const titles = [...user.matchAll(/id="(K\d+)" title="(Fact \d+)/g)];
    asked.push(titles.map(([, , title]) => title).join());
    if (asked.length === 2) return { chunks: ['{"sta'], stall: 'end' };
    const statements = titles.map(([, label, title]) => ({
      topic: 'Facts',
      text: `${title} holds.`,
      sources: [label],
    }));
    return JSON.stringify({ statements });
  });
  const notes: Note[] = [];
  for (let n = 1; n <= 13; n += 1)
    notes.push(
      await api.call<Note>('POST', `${company}/notes`, { title: `Fact ${n}`, body_markdown: `It is ${n}.` }),
    );
  const index = async () => api.call<CompiledIndex>('GET', `${company}/compiled-index`);
  await waitFor(async () => (await index()).unread_sources === 13);
  await api.call('PUT', `${company}/compiled-index/settings`, { agent_id: agents[0]!.id, every_hours: 24 });
  await api.call('POST', `${company}/compiled-index/compile`);
  await waitFor(async () => asked.length === 2 && (await index()).compiling?.batches_done === 1);
  await killScheduler(db, scheduler);
  scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' });
  const { draft } = await waitFor(async () => {
    const seen = await index();
    return seen.draft !== null && seen;
  });
  expect(draft).toMatchObject({ version: 1, error: null, statement_count: 13 });
  // The portion that was read before the kill is not read again; the other one is read once.
  expect(asked).toHaveLength(3);
  expect(asked[2]).toBe(asked[1]);

  const promoted = await fetch(`${url}/companies/${company_id}/knowledge/index/promote?version=1`, {
    method: 'POST',
    headers: { cookie: api.cookie },
    body: new URLSearchParams(),
    redirect: 'manual',
  });
  expect(promoted.headers.get('location')).toBe(`/companies/${company_id}/knowledge/index?done=promote`);
  await api.call('PATCH', `/api/notes/${notes[4]!.id}`, { body_markdown: 'It is another.' });
  await api.call('POST', `${company}/issues`, {
    title: 'Use it',
    assignee_agent_id: agents[0]!.id,
    status: 'todo',
  });
  const prompt = await waitFor(() => worked[0]);
  expect(prompt).toContain(`- Fact 1 holds. [Fact 1](/notes/${notes[0]!.id})`);
  expect(prompt).toContain('- Fact 5 holds. (its source has changed since)');
});
