/** Two instances of the service as peers: an agent of one delegates work to an agent of the other. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import {
  cloneDatabase,
  freePort,
  type FakeModel,
  killServices,
  readPrompt,
  startFakeModel,
  startService,
  waitFor,
} from '@acp/testkit';
import { type Api, baseEnv, createTeam, modelEnv, signIn, type Team } from './api.ts';

interface Issue {
  id: string;
  title: string;
  status: string;
  parent_issue_id: string | null;
}

let model: FakeModel;
let near: Api;
let far: Api;
let home: Team;
let abroad: Team;
let far_url: string;

async function start(label: string): Promise<{ api: Api; url: string }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const service = await startService({
    ...baseEnv,
    ...modelEnv(model.url),
    DATABASE_URL: (await cloneDatabase(label)).url,
    SERVICE_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    SERVICE_PUBLIC_URL: url,
    PORT: String(port),
    SERVICE_A2A_PUSH_ALLOWED_HOSTS: '127.0.0.1',
    RATE_LIMIT_RPM: '0',
  });
  return { api: await signIn(service), url };
}

beforeAll(async () => {
  model = await startFakeModel({
    script: (request) => {
      const { agent, issue } = readPrompt(request);
      // Not the whole prompt: what the company knows of an issue that is done would answer the next one.
      const text = issue!.text;
      // On the remote instance Bob asks once, and answers after the reply.
      if (agent === 'Bob')
        return /metric/.test(text)
          ? 'It is 42 km.\n/report Distance\n```\n42\n```\n/status done'
          : '/await-input Metric or imperial?';
      if (/what you write here is sent on/.test(text)) return 'In metric, please.';
      if (/It is 42 km|\[done/.test(text)) return 'Bob says 42 km.\n/status done';
      return '/assign Far:Bob';
    },
  });
  const [here, there] = [await start('peer_near'), await start('peer_far')];
  near = here.api;
  far = there.api;
  far_url = there.url;
  abroad = await createTeam(far, ['Bob'], { externally_available: true });
  home = await createTeam(near, ['Nell']);
});

afterAll(async () => {
  await killServices();
  await model.close();
});

it('an agent gives work to a peer’s agent, answers its question, and goes on when the work has come back', async () => {
  const { raw_key } = await far.call<{ raw_key: string }>(
    'POST',
    `/api/companies/${abroad.company_id}/agent-api-keys`,
    {
      agent_id: abroad.agents[0]!.id,
    },
  );
  const peer = await near.call<{ id: string }>('POST', `/api/companies/${home.company_id}/a2a/peers`, {
    label: 'Far',
    url: `${far_url}/companies/${abroad.company_id}`,
    api_key: raw_key,
    rate_limit_rpm: 1000,
  });
  await near.call('POST', `/api/a2a/peers/${peer.id}/refresh`);
  expect(await near.call('GET', `/api/a2a/peers/${peer.id}`)).toMatchObject({
    status: 'healthy',
    agents: [{ name: 'Bob', protocol_version: '1.0' }],
  });
  const path = `/api/companies/${home.company_id}/issues`;
  const asked = await near.call<Issue>('POST', path, {
    title: 'How far is it?',
    body_markdown: 'To the sea.',
    assignee_agent_id: home.agents[0]!.id,
  });
  const issues = async () => near.call<Issue[]>('GET', path);
  const child = await waitFor(async () =>
    (await issues()).find(({ parent_issue_id }) => parent_issue_id === asked.id),
  );
  expect(child).toMatchObject({ title: 'Far:Bob: How far is it?' });
  await waitFor(async () => (await issues()).every(({ status }) => status === 'done'), {
    timeout_ms: 60_000,
  });
  const [report] = await near.call<{ title: string; summary: string }[]>(
    'GET',
    `/api/issues/${child.id}/work-products`,
  );
  expect(report).toMatchObject({ title: 'Distance', summary: '42' });
  const comments = await near.call<{ body_markdown: string; author_user_name: string | null }[]>(
    'GET',
    `/api/issues/${child.id}/comments`,
  );
  expect(comments.map(({ body_markdown }) => body_markdown)).toEqual([
    expect.stringContaining('Metric or imperial?'),
    'In metric, please.',
    expect.stringContaining('It is 42 km.'),
  ]);
  expect(await near.call('GET', `/api/a2a/peers/${peer.id}`)).toMatchObject({
    errors: 0,
    last_call_error: null,
  });
  // The cost of the remote work is recorded here, too.
  const costs = await near.call<{ provider: string; cost_usd: number }[]>(
    'GET',
    `/api/companies/${home.company_id}/cost-events`,
  );
  const mirrored = costs.find(({ provider }) => provider === 'a2a');
  expect(mirrored).toMatchObject({ issue_id: child.id, model: 'Bob' });
  const there_costs = await far.call<{ total_usd: number }>(
    'GET',
    `/api/companies/${abroad.company_id}/costs/summary?group_by=agent`,
  );
  expect(mirrored!.cost_usd).toBeGreaterThan(0);
  expect(mirrored!.cost_usd).toBeCloseTo(there_costs.total_usd, 6);
  // One task, however often it was requested.
  expect(await far.call<Issue[]>('GET', `/api/companies/${abroad.company_id}/issues`)).toHaveLength(1);

  const next = await near.call<Issue>('POST', path, {
    title: 'And how deep?',
    assignee_agent_id: home.agents[0]!.id,
  });
  const second = await waitFor(
    async () => (await issues()).find(({ parent_issue_id }) => parent_issue_id === next.id),
    { timeout_ms: 60_000 },
  );
  const there = await waitFor(async () =>
    (await far.call<Issue[]>('GET', `/api/companies/${abroad.company_id}/issues`)).find(
      ({ status }) => status !== 'done',
    ),
  );
  await near.call('PATCH', `/api/issues/${second.id}`, { status: 'cancelled' });
  await waitFor(async () => (await far.call<Issue>('GET', `/api/issues/${there.id}`)).status === 'cancelled');
});
