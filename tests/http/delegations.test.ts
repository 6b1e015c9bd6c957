/**
 * Work delegated to remote agents: found and delegated through tools, tracked by polling and notifications, across both tiers.
 * @in-order later tests read what the delegations before have left
 */
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import type {
  AgentActor,
  Comment,
  CostEvent,
  Issue,
  Peer,
  PeerCall,
  PeerDelegation,
  WorkProduct,
} from '@acp/contract';
import { delegate, findAgent, findIssue, peerAgentNamed } from '@acp/core';
import { transaction, type Tx } from '@acp/db';
import { hmacSha256Hex, loadConfig } from '@acp/kernel';
import { cloneDatabase, type TestDatabase, testLogger, waitFor } from '@acp/testkit';
import { startScheduler, type RunningScheduler } from '../../apps/scheduler/src/main.ts';
import { createApp } from '../../apps/web/src/app.ts';
import { listen, type WebServer } from '../../apps/web/src/http/server.ts';
import { createServices } from '../../apps/web/src/http/services.ts';
import { type Cast, createCast } from './cast.ts';
import { startFormerAgent, startLaterAgent, startWilfulAgent } from './far-agents.ts';
import { rpc } from './mcp-messages.ts';

let db: TestDatabase;
let web: WebServer;
let config: ReturnType<typeof loadConfig>;
let scheduler: RunningScheduler;
let cast: Cast;
let former: Awaited<ReturnType<typeof startFormerAgent>>;
let later: Awaited<ReturnType<typeof startLaterAgent>>;
let faraday: Awaited<ReturnType<typeof startWilfulAgent>>;

beforeAll(async () => {
  // The official library logs each notification it sends there.
  jest.spyOn(console, 'info').mockImplementation(() => undefined);
  [former, later, faraday] = await Promise.all([startFormerAgent(), startLaterAgent(), startWilfulAgent()]);
  db = await cloneDatabase('delegations');
  void db.notifier;
  const { database, listener } = db;
  const env = {
    DATABASE_URL: db.url,
    RATE_LIMIT_RPM: '0',
    SERVICE_ENCRYPTION_KEY: '7'.repeat(64),
    SERVICE_DRAIN_TIMEOUT_SEC: '0',
  };
  const logger = testLogger();
  const first = loadConfig(env);
  const services = createServices({ database, config: first, logger, listener });
  const app = createApp({ database, logger, config: first, services, listener, validate_responses: true });
  web = await listen(app, { host: '127.0.0.1', port: 0 });
  config = loadConfig({ ...env, SERVICE_PUBLIC_URL: web.url });
  scheduler = await startScheduler({ config, logger });
  cast = await createCast(database);
  // Only peers may work on what is requested of them.
  await db.database.pool.query(`update agents set status = 'paused'`);
  for (const [label, url] of [
    ['Former', former.url],
    ['Later', later.url],
    ['Lab', faraday.url],
  ]) {
    const peer = await api<Peer>('POST', ofCompany('a2a/peers'), { label, url, rate_limit_rpm: 10_000 });
    await waitFor(async () => (await api<Peer>('GET', `/api/a2a/peers/${peer.id}`)).status === 'healthy');
  }
});

afterAll(async () => {
  await scheduler.stop();
  await web.stop(0);
  former.close();
  later.close();
  faraday.close();
});

const ofCompany = (rest: string) => `/api/companies/${cast.company_id}/${rest}`;

async function send(method: string, path: string, body?: unknown, headers = cast.board_admin.headers) {
  const response = await fetch(web.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
}
async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await send(method, path, body);
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body as T;
}

/** Calls one of the agents' tools as an MCP client does. */
async function tool<T>(name: string, args: object): Promise<T> {
  const { body } = await send(
    'POST',
    `/mcp/${cast.company_id}`,
    rpc('tools/call', { name, arguments: args }),
    cast.agent.headers,
  );
  const { result } = body as { result: { structuredContent?: T; isError?: true; content: object[] } };
  if (result.isError) throw new Error(JSON.stringify(result.content));
  return result.structuredContent as T;
}
async function delegated(agent: string, task: string): Promise<{ id: string; parent: Issue }> {
  const parent = await api<Issue>('POST', ofCompany('issues'), { title: task });
  const { id } = await tool<{ id: string }>('peers__delegate', { agent, issue: parent.identifier, task });
  return { id, parent };
}
const issue = async (id: string) => api<Issue>('GET', `/api/issues/${id}`);
const words = async (id: string) =>
  (await api<Comment[]>('GET', `/api/issues/${id}/comments`)).map(({ body_markdown }) => body_markdown);
async function agentActor(tx: Tx): Promise<AgentActor> {
  const { id, company_id, name, permissions } = (await findAgent(tx, cast.agent_id))!;
  return { kind: 'agent', agent_id: id, company_id, name, permissions, key_id: null, run_id: null, depth: 0 };
}
/** Postpones the next poll, so that only a notification triggers one. */
const putOff = async (id: string) =>
  db.database.pool.query(
    `update a2a_delegations set next_attempt_at = now() + interval '5 minutes', changed_at = now() - interval '1 day'
     where issue_id = $1 and claimed_at is null`,
    [id],
  );

it('an agent finds who fits a need, its own company first by as much as the peer’s bias says', async () => {
  const bias = async (local_preference_bias: number) => {
    const peers = await api<Peer[]>('GET', ofCompany('a2a/peers'));
    const { id } = peers.find(({ label }) => label === 'Lab')!;
    await api('PATCH', `/api/a2a/peers/${id}`, { local_preference_bias });
  };
  await db.database.pool.query(
    `update agents set status = 'idle', description = 'Knows magnets' where id = $1`,
    [cast.agent_id],
  );
  const first = async () => {
    const { agents } = await tool<{ agents: { agent: string; score: number }[] }>('peers__find', {
      need: 'electricity and magnets',
    });
    return agents[0]!.agent;
  };
  await bias(0);
  expect(await first()).toBe('Lab:Faraday');
  await bias(0.9);
  expect(await first()).not.toBe('Lab:Faraday');
  await db.database.pool.query(`update agents set status = 'paused'`);
  await expect(tool('peers__delegate', { agent: 'Lab:Nobody', issue: 'X-1', task: 'a' })).rejects.toThrow(
    'there is no agent Lab:Nobody',
  );
});

it('an agent without federation.call gives work to no peer, and changes, fetches and removes none', async () => {
  const parent = await api<Issue>('POST', ofCompany('issues'), { title: 'Not to be given away' });
  const lab = (await api<Peer[]>('GET', ofCompany('a2a/peers'))).find(({ label }) => label === 'Lab')!;
  const path = `/api/a2a/peers/${lab.id}`;
  const permit = async (may: boolean) => {
    await api('PATCH', `/api/agents/${cast.agent_id}/permissions`, { 'federation.call': may });
    // Credentials are cached; a notification drops them.
    await waitFor(async () => {
      const { status } = await send('PATCH', path, { rate_limit_rpm: 10_000 }, cast.agent.headers);
      return status === (may ? 200 : 403);
    });
  };
  await permit(false);
  const args = { agent: 'Lab:Faraday', issue: parent.identifier, task: 'a' };
  await expect(tool('peers__delegate', args)).rejects.toThrow('federation.call');
  await expect(tool('peers__find', { need: 'magnets' })).rejects.toThrow('federation.call');
  for (const [method, rest, body] of [
    ['PATCH', '', { rate_limit_rpm: 5 }],
    ['DELETE', '', undefined],
    ['POST', '/refresh', {}],
  ] as const)
    expect(await send(method, path + rest, body, cast.agent.headers)).toMatchObject({ status: 403 });
  // As `/assign Lab:Faraday` does.
  const assigned = transaction(db.database, async (tx) =>
    delegate(
      tx,
      await agentActor(tx),
      (await findIssue(tx, parent.id))!,
      (await peerAgentNamed(tx, cast.company_id, 'Lab:Faraday'))!,
    ),
  );
  await expect(assigned).rejects.toMatchObject({ kind: 'forbidden' });
  await permit(true);
  expect(await issue(parent.id)).toMatchObject({ status: parent.status });
  expect(await api<Issue[]>('GET', ofCompany('issues?q=Lab:Faraday'))).toEqual([]);
  expect(await api<Peer>('GET', path)).toMatchObject({ calls: lab.calls, rate_limit_rpm: 10_000 });
});

it('an agent of the official 0.3 library is asked, answered and heard, and its notifications come', async () => {
  const { id, parent } = await delegated('Former:Surveyor', 'How far is it?');
  await waitFor(async () => (await words(id)).some((text) => text.includes('Metric or imperial?')));
  await waitFor(async () => (await putOff(id)).rowCount === 1);
  await api('POST', `/api/issues/${id}/comments`, { body_markdown: 'In metric, please.' });
  await db.database.pool.query('update a2a_delegations set next_attempt_at = now() where issue_id = $1', [
    id,
  ]);
  const rowOf = async () => {
    const { rows } = await db.database.pool.query<{ notified_at: Date | null; push_token_sealed: string }>(
      'select notified_at, push_token_sealed from a2a_delegations where issue_id = $1',
      [id],
    );
    return rows[0]!;
  };
  await waitFor(async () => (await rowOf()).notified_at !== null, { what: 'a notification' });
  former.answer();
  await waitFor(async () => (await issue(id)).status === 'done');
  expect((await words(id)).at(-1)).toBe('It is 42 km.');
  expect(await api<WorkProduct[]>('GET', `/api/issues/${id}/work-products`)).toMatchObject([
    { title: 'Distance', summary: '42' },
  ]);
  expect((await rowOf()).push_token_sealed).toEqual(expect.any(String));
  expect((await issue(parent.id)).status).toBe('todo');
});

it('an agent of the official 1.0 library does what it is asked', async () => {
  const { id } = await delegated('Later:Calculator', 'Two and two?');
  await waitFor(async () => (await issue(id)).status === 'done');
  expect(await words(id)).toEqual(['It is 4.']);
});

it('a notification has the task asked for at once, if it has the token; what it cost is the company’s cost', async () => {
  const done = { state: 'TASK_STATE_COMPLETED', message: { messageId: 'm', parts: [{ text: 'Ready.' }] } };
  let status: object = { state: 'TASK_STATE_WORKING' };
  const usage = { costUsd: 0.25, inputTokens: 1000, outputTokens: 50 };
  let told: { url: string; token: string } | undefined;
  faraday.behave(({ method, params }) => {
    if (method === 'CreateTaskPushNotificationConfig') {
      told = { url: String(params.url), token: String(params.token) };
      return { result: params };
    }
    const task = { id: 'far-1', contextId: 'c', status, metadata: { usage } };
    return { result: method === 'SendMessage' ? { task } : task };
  });
  const { id } = await delegated('Lab:Faraday', 'Charge it');
  const { url, token } = await waitFor(() => told);
  expect(url).toBe(`${web.url}/api/a2a/notifications/${id}`);
  await waitFor(async () => (await putOff(id)).rowCount === 1);
  const notify = async (headers: Record<string, string>, to = url) =>
    (await fetch(to, { method: 'POST', headers, body: '{"task":{}}' })).status;
  const now = String(Math.floor(Date.now() / 1000));
  const signed = (timestamp: string, key: string) => ({
    'x-a2a-notification-token': token,
    'x-service-timestamp': timestamp,
    'x-service-signature': hmacSha256Hex(key, `${timestamp}.{"task":{}}`),
  });
  expect(await notify({})).toBe(401);
  expect(await notify({ 'x-a2a-notification-token': 'x'.repeat(64) })).toBe(401);
  expect(await notify(signed(now, 'another key'))).toBe(401);
  expect(await notify(signed(String(Number(now) - 3600), token))).toBe(401);
  expect(await notify(signed(now, token), url.replace(id, cast.agent_id))).toBe(404);
  status = done;
  expect((await issue(id)).status).toBe('in_progress');
  expect(await notify(signed(now, token))).toBe(204);
  await waitFor(async () => (await issue(id)).status === 'done');
  // Another one that was on its way: a refusal would have the peer repeat it for a day, and then count it as failed.
  expect(await notify(signed(now, token))).toBe(204);
  expect(await notify(signed(now, 'another key'))).toBe(401);
  const costs = await api<CostEvent[]>('GET', ofCompany('cost-events'));
  expect(costs).toMatchObject([
    {
      issue_id: id,
      agent_id: cast.agent_id,
      provider: 'a2a',
      model: 'Faraday',
      cost_usd: 0.25,
      input_tokens: 1000,
    },
  ]);
});

it('a peer without notifications is asked again and again; one that says it cost a fortune costs its bound', async () => {
  let asked = 0;
  const usage = { costUsd: 1e12, inputTokens: 1e300, outputTokens: 0 };
  faraday.behave(({ method }) => {
    if (method === 'CreateTaskPushNotificationConfig')
      return { error: { code: -32_003, message: 'no notifications' } };
    if (method === 'GetTask') asked += 1;
    const state = asked < 2 ? 'TASK_STATE_WORKING' : 'TASK_STATE_FAILED';
    const task = { id: 'far-2', status: { state }, metadata: { usage } };
    return { result: method === 'SendMessage' ? { task } : task };
  });
  const { id } = await delegated('Lab:Faraday', 'Slowly');
  await waitFor(async () => (await issue(id)).status === 'cancelled');
  expect(await words(id)).toEqual(['The task was failed.']);
  expect((await api<CostEvent[]>('GET', ofCompany('cost-events')))[0]).toMatchObject({
    issue_id: id,
    cost_usd: 1000,
    input_tokens: 2_000_000_000,
  });
  const { rows } = await db.database.pool.query(
    'select push_token_sealed from a2a_delegations where issue_id = $1',
    [id],
  );
  expect(rows).toEqual([{ push_token_sealed: null }]);
});

it('a scheduler that ends while the peer has the work has another send the same message, and nothing twice', async () => {
  let isThere = false;
  faraday.behave(({ method, params }) => {
    if (!isThere) return 'silence';
    const status = {
      state: 'TASK_STATE_COMPLETED',
      message: { messageId: 'once', parts: [{ text: 'Once.' }] },
    };
    const artifacts = [{ artifactId: 'a', name: 'Plan', parts: [{ text: 'p' }] }];
    const task = { id: 'far-3', status, artifacts };
    return { result: method === 'SendMessage' ? { task } : params };
  });
  const { id } = await delegated('Lab:Faraday', 'Once only');
  await waitFor(() => faraday.journal.length === 1);
  await scheduler.stop();
  isThere = true;
  scheduler = await startScheduler({ config, logger: testLogger() });
  // Expires the delay set by its claim.
  await db.database.pool.query('update a2a_delegations set next_attempt_at = now() where issue_id = $1', [
    id,
  ]);
  await waitFor(async () => (await issue(id)).status === 'done');
  const ids = faraday.journal.map(({ params }) => params.message?.messageId);
  expect(ids).toEqual([ids[0], ids[0]]);
  expect(await words(id)).toEqual(['Once.']);
  expect(await api('GET', `/api/issues/${id}/work-products`)).toHaveLength(1);
});

it('the peer’s records tell of the work it was given and of each call, in pages, with costs and refusals', async () => {
  let isRefused = true;
  faraday.behave(({ method }) => {
    const task = { id: 'far-4', status: { state: 'TASK_STATE_COMPLETED' }, metadata: { usage: cheap } };
    if (isRefused) return { error: { code: -32_603, message: 'not today' } };
    return { result: method === 'SendMessage' ? { task } : task };
  });
  const cheap = { costUsd: 0.01, inputTokens: 10, outputTokens: 1 };
  const { id } = await delegated('Lab:Faraday', 'Recorded');
  const { id: peer_id } = (await api<Peer[]>('GET', ofCompany('a2a/peers'))).find(
    ({ label }) => label === 'Lab',
  )!;
  const own = `/api/a2a/peers/${peer_id}`;
  const [given] = await waitFor(async () => {
    const rows = await api<PeerDelegation[]>('GET', `${own}/delegations`);
    return rows[0]?.error === null ? undefined : rows;
  });
  expect(given).toMatchObject({
    issue_id: id,
    title: 'Lab:Faraday: Recorded',
    remote_agent: 'Faraday',
    state: 'submitted',
    followed: true,
    error: 'the peer refused: not today (-32603)',
    cost_usd: null,
  });
  isRefused = false;
  await db.database.pool.query('update a2a_delegations set next_attempt_at = now() where issue_id = $1', [
    id,
  ]);
  await waitFor(async () => (await issue(id)).status === 'done');
  const [done, ...older] = await api<PeerDelegation[]>('GET', `${own}/delegations`);
  expect(done).toMatchObject({
    state: 'completed',
    followed: false,
    error: null,
    failures: 0,
    cost_usd: 0.01,
  });
  expect(older.map(({ remote_agent }) => remote_agent)).toContain('Faraday');
  const calls = await api<PeerCall[]>('GET', `${own}/calls`);
  expect(calls.slice(0, 2)).toMatchObject([
    { issue_id: id, method: 'SendMessage', ok: true, error: null },
    { issue_id: id, method: 'SendMessage', ok: false, error: 'the peer refused: not today (-32603)' },
  ]);
  // Polling a task's state succeeds often, and leaves no record.
  expect(calls.filter(({ method, ok }) => method === 'GetTask' && ok)).toEqual([]);
  const seen: string[] = [];
  for (let next: string | null = `${own}/calls?limit=1`; next !== null;) {
    const response: Response = await fetch(web.url + next, { headers: cast.viewer.headers });
    seen.push(...((await response.json()) as PeerCall[]).map((call) => call.id));
    const cursor = response.headers.get('x-next-cursor');
    next = cursor === null ? null : `${own}/calls?limit=1&cursor=${cursor}`;
  }
  expect(seen).toEqual(calls.map((call) => call.id));
  await api('DELETE', `/api/issues/${id}`);
  const [trashed] = await api<PeerDelegation[]>('GET', `${own}/delegations`);
  expect(trashed).toMatchObject({ issue_id: null, identifier: null, title: null, remote_agent: 'Faraday' });
});

it('a peer is told how many agents in a row stand behind the work; too many, and it is not given away', async () => {
  faraday.behave(() => 'silence');
  await delegated('Lab:Faraday', 'By the word of an agent');
  await waitFor(() => faraday.journal.length === 1);
  expect(faraday.journal[0]!.params.message?.metadata).toEqual({ causeDepth: 1 });
  const parent = await api<Issue>('POST', ofCompany('issues'), { title: 'Round and round' });
  const chain = async (depth: number) =>
    transaction(db.database, async (tx) => {
      const found = await peerAgentNamed(tx, cast.company_id, 'Lab:Faraday');
      const actor = { ...(await agentActor(tx)), depth };
      await delegate(tx, actor, (await findIssue(tx, parent.id))!, found!);
    });
  await expect(chain(12)).rejects.toThrow('too many agents have woken each other in a row');
  await chain(11);
});
