/** Two instances of the service as peers: an agent of one delegates work to an agent of the other. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import {
  cloneDatabase,
  freePort,
  type ServiceProcess,
  type FakeModel,
  killServices,
  readPrompt,
  startFakeModel,
  startService,
  waitFor,
} from '@acp/testkit';
import { startWilfulAgent } from '../http/far-agents.ts';
import { type Api, baseEnv, createTeam, modelEnv, signIn, type Team } from './api.ts';

interface Issue {
  id: string;
  title: string;
  status: string;
  parent_issue_id: string | null;
}

interface Health {
  status: string;
}

/** Uses the agent's own key, as an MCP client. */
async function delegateAs(api: Api, url: string, { company_id, agents }: Team, issue: string): Promise<void> {
  const { raw_key } = await api.call<{ raw_key: string }>(
    'POST',
    `/api/companies/${company_id}/agent-api-keys`,
    {
      agent_id: agents[0]!.id,
    },
  );
  const params = {
    name: 'peers__delegate',
    arguments: { agent: 'Lab:Faraday', issue, task: 'How long is it?' },
  };
  const response = await fetch(`${url}/mcp/${company_id}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${raw_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const { result } = (await response.json()) as { result: { isError?: true } };
  if (result.isError) throw new Error(JSON.stringify(result));
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

it('a scheduler killed in mid delegation loses nothing, has nothing sent twice, and a cancel still reaches the peer', async () => {
  const peer = await startWilfulAgent();
  const { database, url } = await cloneDatabase('peer_killed');
  const env = { ...baseEnv, DATABASE_URL: url, RATE_LIMIT_RPM: '0' };
  const web = await startService({ ...env, SERVICE_ROLE: 'web' });
  let scheduler: ServiceProcess;
  const restart = async () => (scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' }));
  await restart();
  const api = await signIn(web);
  const team = await createTeam(api, ['Nell']);
  const { id: peer_id } = await api.call<{ id: string }>(
    'POST',
    `/api/companies/${team.company_id}/a2a/peers`,
    {
      label: 'Lab',
      url: peer.url,
      rate_limit_rpm: 1000,
    },
  );
  await waitFor(
    async () => (await api.call<Health>('GET', `/api/a2a/peers/${peer_id}`)).status === 'healthy',
  );
  /** Expires the claims of the killed process immediately. */
  const lapse = async () =>
    database.pool.query(
      'update a2a_delegations set next_attempt_at = now() where next_attempt_at is not null',
    );
  const path = `/api/companies/${team.company_id}/issues`;
  const { id: parent_id } = await api.call<Issue>('POST', path, { title: 'Measure it' });
  await delegateAs(api, web.url, team, parent_id);
  // The peer has received the message but not answered when the scheduler dies.
  await waitFor(() => peer.journal.length === 1);
  const [{ params: first }] = peer.journal as [(typeof peer.journal)[0]];
  scheduler!.kill('SIGKILL');
  await scheduler!.ended;
  const task = { id: 'far-1', status: { state: 'TASK_STATE_WORKING' } };
  peer.behave(({ method }) => {
    if (method === 'CancelTask') return { result: { ...task, status: { state: 'TASK_STATE_CANCELED' } } };
    return { result: method === 'SendMessage' ? { task } : task };
  });
  await lapse();
  await restart();
  await waitFor(() => peer.journal.some(({ method }) => method === 'GetTask'));
  // The same message is sent again, which the peer recognizes as a repeat, and no other.
  const sent = peer.journal.filter(({ method }) => method === 'SendMessage');
  expect(sent.map(({ params }) => params.message?.messageId)).toEqual([first.message?.messageId]);
  scheduler!.kill('SIGKILL');
  await scheduler!.ended;
  const child = (await api.call<Issue[]>('GET', path)).find(
    ({ parent_issue_id }) => parent_issue_id === parent_id,
  )!;
  await api.call('PATCH', `/api/issues/${child.id}`, { status: 'cancelled' });
  await lapse();
  await restart();
  const cancels = () =>
    peer.journal.filter(({ method }) => method === 'CancelTask').map(({ params }) => params.id);
  await waitFor(() => cancels().length > 0);
  await waitFor(
    async () =>
      (await api.call<{ followed: boolean }[]>('GET', `/api/a2a/peers/${peer_id}/delegations`))[0]
        ?.followed === false,
  );
  expect(cancels()).toEqual(['far-1']);
  expect(peer.journal.filter(({ method }) => method === 'SendMessage')).toHaveLength(1);
  peer.close();
});
