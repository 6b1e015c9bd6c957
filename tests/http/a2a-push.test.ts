/** Push notifications of agent-to-agent tasks: requested by the official clients, sent by a scheduler's sender. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { TaskPushNotificationConfig } from '@a2a-js/sdk';
import type { PushDelivery } from '@acp/contract';
import { pushBodies } from '@acp/core';
import { type Database, type Listener, schema } from '@acp/db';
import { createLogger, hmacSha256Hex, loadConfig, newId, Vault } from '@acp/kernel';
import { openQueue, type Queue } from '@acp/queue';
import { cloneDatabase, createKeyOf, createRunningRun, waitFor } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebhookSender } from '../../apps/scheduler/src/webhooks/webhook-sender.ts';
import { createApp } from '../../apps/web/src/app.ts';
import { listen, type WebServer } from '../../apps/web/src/http/server.ts';
import { AtWork, clientsOf, fetchAs, PUBLIC_URL } from './a2a-stage.ts';
import { type Cast, createCast } from './cast.ts';

const { agent_api_keys, agents, webhooks } = schema;
const ofTask = (id: string) => eq(webhooks.issue_id, id);

interface Received {
  headers: IncomingHttpHeaders;
  text: string;
}

let database: Database;
let listener: Listener;
let queue: Queue;
let server: WebServer;
let receiver: Server;
let sender: WebhookSender;
let cast: Cast;
let agent: AtWork;
let path: string;
let hook: string;
let status = 204;
const received: Received[] = [];
/** Responses to requests for `/slow`, still pending. */
const held: ServerResponse[] = [];

beforeAll(async () => {
  // Uses its own database: the cursor of webhooks is shared by the whole instance.
  const kit = await cloneDatabase('a2a_push');
  ({ database, listener } = kit);
  void kit.notifier;
  queue = await openQueue({ database, role: 'client' });
  receiver = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, text });
      if (request.url === '/slow') held.push(response);
      else response.writeHead(status).end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  hook = `http://127.0.0.1:${port}/hook`;
  const config = loadConfig({
    RATE_LIMIT_RPM: '0',
    SERVICE_PUBLIC_URL: PUBLIC_URL,
    SERVICE_ENCRYPTION_KEY: '7'.repeat(64),
    SERVICE_A2A_PUSH_ALLOWED_HOSTS: `127.0.0.1:${port}`,
  });
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  server = await listen(createApp({ database, logger, config, validate_responses: true }), {
    host: '127.0.0.1',
    port: 0,
  });
  sender = new WebhookSender({ database, listener, logger, vault: new Vault(config.encryption_key), config });
  await listener.ready();
  cast = await createCast(database);
  agent = new AtWork(database, cast.agent_id);
  path = `/companies/${cast.company_id}/agents/${cast.agent_id}`;
});

afterAll(async () => {
  await sender.stop();
  await server.stop(0);
  receiver.close();
  await queue.stop();
});

async function ask(method: string, params: object, who: 'agent' | 'foreign_agent' = 'agent') {
  const of = who === 'agent' ? path : `/companies/${cast.other_company_id}/agents/${cast.other_agent_id}`;
  const response = await fetch(`${server.url}${of}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...cast[who].headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return (await response.json()) as {
    result: { task: { id: string } } & Record<string, unknown>;
    error?: { code: number };
  };
}

const send = async (configuration: object = {}, who: 'agent' | 'foreign_agent' = 'agent') => {
  const message = { messageId: newId(), role: 'ROLE_USER', parts: [{ text: 'Please' }] };
  const sent = { message, configuration: { returnImmediately: true, ...configuration } };
  const { result } = await ask('SendMessage', sent, who);
  return result.task.id;
};

/** Notifications received for the task, as JSON. A scheduler's timer would check every second. */
const told = async (id: string, count: number) =>
  waitFor(() => {
    sender.kick();
    const mine = received.filter(({ text }) => text.includes(id));
    return mine.length >= count ? mine : undefined;
  });

/** The sender may be writing to what is deleted along with the issues: the deletion then loses, and is repeated. */
const clear = async () => waitFor(async () => (await database.db.delete(schema.issues), true));

it('a client is told of each change of its task, with its credentials, signed, in its dialect', async () => {
  const { v0, v1 } = await clientsOf(fetchAs(server.url, cast.agent.headers), `${path}/agent-card.json`);
  const authentication = { scheme: 'Bearer', credentials: 'let-me-in' };
  const id = await send({ taskPushNotificationConfig: { url: hook, token: 'my-token', authentication } });
  await v0.setTaskPushNotificationConfig({ taskId: id, pushNotificationConfig: { id: 'old', url: hook } });
  await agent.ask(id, 'Red or blue?');
  await told(id, 2);
  await agent.finish(id, 'Blue.');
  const all = await told(id, 4);
  const [asked, done] = all.filter(({ headers }) => headers['content-type'] === 'application/a2a+json');
  expect(JSON.parse(asked!.text)).toMatchObject({
    task: { id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } },
  });
  expect(JSON.parse(done!.text)).toMatchObject({ task: { id, status: { state: 'TASK_STATE_COMPLETED' } } });
  expect(asked!.headers).toMatchObject({
    'x-a2a-notification-token': 'my-token',
    authorization: 'Bearer let-me-in',
  });
  const timestamp = String(asked!.headers['x-service-timestamp']);
  expect(asked!.headers['x-service-signature']).toBe(
    hmacSha256Hex('my-token', `${timestamp}.${asked!.text}`),
  );
  const former = all.filter(({ headers }) => headers['content-type'] === 'application/json');
  expect(former.map(({ text }) => JSON.parse(text) as object)).toMatchObject([
    { kind: 'task', status: { state: 'input-required' } },
    { kind: 'task', status: { state: 'completed' } },
  ]);
  expect(former[0]!.headers['x-service-signature']).toBeUndefined();

  const { configs } = await v1.listTaskPushNotificationConfig({
    tenant: '',
    taskId: id,
    pageSize: 0,
    pageToken: '',
  });
  expect(configs.map((each) => [each.id, each.url, each.token])).toEqual(
    expect.arrayContaining([
      [id, hook, ''],
      ['old', hook, ''],
    ]),
  );
  // The field name as spelled in the protocol definition.
  const spelt = await fetch(`${server.url}${path}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...cast.agent.headers },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'GetTaskPushNotificationConfig',
      params: { task_id: id, id: 'old' },
    }),
  });
  expect(await spelt.json()).toMatchObject({ result: { taskId: id, id: 'old', url: hook } });
  await v0.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId: 'old' });
  const rest = (await v0.listTaskPushNotificationConfig({ id })) as {
    pushNotificationConfig: { id: string };
  }[];
  expect(rest.map((each) => each.pushNotificationConfig.id)).toEqual([id]);
  const made = TaskPushNotificationConfig.fromJSON({ taskId: id, id: 'new', url: hook });
  expect(await v1.createTaskPushNotificationConfig(made)).toMatchObject({ taskId: id, id: 'new' });
  expect(await v1.getTaskPushNotificationConfig({ tenant: '', taskId: id, id: 'new' })).toMatchObject({
    url: hook,
  });
});

it('a run of the agent neither learns where its client is told nor ends it', async () => {
  const { ada, run } = await createRunningRun(database.db);
  await database.db.update(agents).set({ externally_available: true }).where(eq(agents.id, ada.id));
  const [client, program] = [
    await createKeyOf(database.db, ada),
    await createKeyOf(database.db, ada, { run_id: run.run_id }),
  ];
  const asked = async ({ raw_key }: { raw_key: string }, method: string, params: object) => {
    const response = await fetch(`${server.url}/companies/${ada.company_id}/agents/${ada.id}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${raw_key}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return (await response.json()) as { result?: { id: string }; error?: { message: string } };
  };
  const message = {
    kind: 'message',
    role: 'user',
    messageId: newId(),
    parts: [{ kind: 'text', text: 'Count' }],
  };
  const configuration = { pushNotificationConfig: { url: hook }, blocking: false };
  const { id } = (await asked(client, 'message/send', { message, configuration })).result!;
  const named = { id, pushNotificationConfigId: id };
  for (const method of ['get', 'list', 'delete'])
    expect((await asked(program, `tasks/pushNotificationConfig/${method}`, named)).error?.message).toContain(
      'a run’s key',
    );
  expect((await asked(client, 'tasks/pushNotificationConfig/list', { id })).result).toHaveLength(1);
});

it('a receiver that fails is tried again; its configuration is none of the company’s webhooks, and goes with its issue', async () => {
  status = 500;
  const id = await send({ taskPushNotificationConfig: { url: hook, token: 't' } });
  await agent.finish(id, 'Done.');
  await told(id, 1);
  status = 204;
  await waitFor(async () => {
    await database.pool.query(
      'update webhooks set next_attempt_at = now() where next_attempt_at is not null',
    );
    sender.kick();
    return received.filter(({ text }) => text.includes(id)).length >= 2;
  });
  const own = await fetch(`${server.url}/api/companies/${cast.company_id}/webhooks`, {
    headers: cast.board_admin.headers,
  });
  expect(await own.json()).toEqual([]);
  await clear();
  expect(await database.db.$count(schema.webhooks)).toBe(0);
});

it('a client is told no more once its key is deleted or expired, or the agent is not for clients any more', async () => {
  status = 204;
  const { id: key_id, raw_key } = await createKeyOf(database.db, {
    id: cast.agent_id,
    company_id: cast.company_id,
  });
  const other = { authorization: `Bearer ${raw_key}` };
  const id = await send({ taskPushNotificationConfig: { url: hook, token: 'stays' } });
  const { v0 } = await clientsOf(fetchAs(server.url, other), `${path}/agent-card.json`);
  const pushNotificationConfig = { id: 'leaves', url: hook, token: 'leaves' };
  await v0.setTaskPushNotificationConfig({ taskId: id, pushNotificationConfig });
  const bodies = async () =>
    (await pushBodies(PUBLIC_URL)(database.db, await database.db.select().from(webhooks).where(ofTask(id))))
      .size;
  expect(await bodies()).toBe(2);
  const set = async (values: object) =>
    database.db.update(agent_api_keys).set(values).where(eq(agent_api_keys.id, key_id));
  await set({ expires_at: new Date(Date.now() - 1000) });
  expect(await bodies()).toBe(1);
  await set({ expires_at: null });
  await fetch(`${server.url}/api/agent-api-keys/${key_id}`, { method: 'DELETE', headers: other });
  expect(await bodies()).toBe(1);
  await agent.finish(id, 'Done.');
  expect((await told(id, 1)).map(({ headers }) => headers['x-a2a-notification-token'])).toEqual(['stays']);
  const available = async (externally_available: boolean) =>
    database.db.update(agents).set({ externally_available }).where(eq(agents.id, cast.agent_id));
  await available(false);
  expect(await bodies()).toBe(0);
  await available(true);
  await clear();
});

it.each([
  [
    'its key is deleted',
    async (key_id: string) => database.db.delete(agent_api_keys).where(eq(agent_api_keys.id, key_id)),
  ],
  [
    'the agent is withdrawn',
    async () =>
      database.db.update(agents).set({ externally_available: false }).where(eq(agents.id, cast.agent_id)),
  ],
])(
  'what was queued for a client before %s is not sent afterwards, not by an admin either',
  async (_what, end) => {
    const of = { id: cast.agent_id, company_id: cast.company_id };
    const { id: key_id, raw_key } = await createKeyOf(database.db, of);
    const id = await send();
    const { v0 } = await clientsOf(
      fetchAs(server.url, { authorization: `Bearer ${raw_key}` }),
      `${path}/agent-card.json`,
    );
    await v0.setTaskPushNotificationConfig({
      taskId: id,
      pushNotificationConfig: { id: 'mine', url: hook, token: 'mine' },
    });
    status = 500;
    await agent.finish(id, 'Done.');
    await told(id, 1);
    const { webhook_deliveries: sent } = schema;
    const delivery = async () => {
      const ofIt = await database.db.select({ id: webhooks.id }).from(webhooks).where(ofTask(id));
      const [row] = await database.db.select().from(sent).where(eq(sent.webhook_id, ofIt[0]!.id));
      return row;
    };
    await waitFor(async () => (await delivery())?.attempts === 1);
    await end(key_id);
    status = 204;
    const dropped = async () => {
      await database.pool.query('update webhooks set next_attempt_at = now() where issue_id = $1', [id]);
      return waitFor(async () => {
        sender.kick();
        const row = await delivery();
        return row?.status === 'failed' && row.error === 'the client may no longer see the task'
          ? row
          : undefined;
      });
    };
    const { id: delivery_id } = await dropped();
    const redelivered = await fetch(`${server.url}/api/webhook-deliveries/${delivery_id}/redeliver`, {
      method: 'POST',
      headers: cast.board_admin.headers,
    });
    expect(redelivered.status).toBe(200);
    await dropped();
    expect(received.filter(({ text }) => text.includes(id))).toHaveLength(1);
    await database.db.update(agents).set({ externally_available: true }).where(eq(agents.id, cast.agent_id));
    await clear();
  },
);

it('what waits for a receiver goes to its new address, though its former one still takes its time', async () => {
  const id = await send({
    taskPushNotificationConfig: { url: hook.replace('/hook', '/slow'), token: 'former' },
  });
  await agent.ask(id, 'Red or blue?');
  await waitFor(() => {
    sender.kick();
    return held.length === 1;
  });
  await agent.finish(id, 'Blue.');
  const waiting = async () => database.db.$count(schema.webhook_deliveries);
  await waitFor(async () => {
    sender.kick();
    return (await waiting()) === 2;
  });
  await ask('CreateTaskPushNotificationConfig', { taskId: id, url: hook, token: 'new' });
  for (const response of held.splice(0)) response.writeHead(204).end();
  const all = await told(id, 3);
  expect(all.map(({ headers }) => headers['x-a2a-notification-token'])).toEqual(['former', 'new', 'new']);
  await clear();
});

it('a task has ten configurations at most, each once, however many are made at the same time', async () => {
  const { v0 } = await clientsOf(fetchAs(server.url, cast.agent.headers), `${path}/agent-card.json`);
  const id = await send();
  const names = [...Array.from({ length: 12 }, (_, n) => `hook ${n}`), 'hook 0', 'hook 1'];
  await Promise.allSettled(
    names.map(async (name) =>
      v0.setTaskPushNotificationConfig({ taskId: id, pushNotificationConfig: { id: name, url: hook } }),
    ),
  );
  const kept = await database.db.select().from(webhooks).where(ofTask(id));
  expect([kept.length, new Set(kept.map(({ config_id }) => config_id)).size]).toEqual([10, 10]);
  await clear();
});

it('a notification that is given up after a day is a dead letter, which an admin has sent again', async () => {
  const company = `${server.url}/api/companies/${cast.company_id}`;
  const list = async (query: string, headers = cast.board_admin.headers) => {
    const response = await fetch(`${company}/a2a/push-deliveries${query}`, { headers });
    return { status: response.status, body: (await response.json()) as PushDelivery[] };
  };
  status = 500;
  const id = await send({ taskPushNotificationConfig: { url: hook, token: 't' } });
  await agent.finish(id, 'Done.');
  await told(id, 1);
  const again = 'update webhooks set next_attempt_at = now() where next_attempt_at is not null';
  const failed = async () => (await list('?status=failed')).body;
  // Its day of attempts is over.
  await waitFor(async () => {
    await database.pool.query(`update webhook_deliveries set queued_at = now() - interval '25 hours'`);
    await database.pool.query(again);
    sender.kick();
    return (await failed()).length === 1;
  });
  const [letter] = await failed();
  expect(letter).toMatchObject({
    issue_id: id,
    config_id: id,
    host: new URL(hook).host,
    enabled: true,
    status: 'failed',
    response_status: 500,
    finished_at: expect.any(String),
  });
  expect(JSON.stringify(letter)).not.toContain('/hook');
  expect((await list('', cast.board_member.headers)).status).toBe(403);
  expect((await list('', cast.foreign_board.headers)).status).toBe(404);
  expect((await list('?status=odd')).status).toBe(400);
  // After days without any success it was also switched off.
  await database.db.update(schema.webhooks).set({ enabled: false, disabled_reason: 'gone' });
  status = 204;
  const before = received.length;
  const sent = await fetch(`${server.url}/api/webhook-deliveries/${letter!.id}/redeliver`, {
    method: 'POST',
    headers: cast.board_admin.headers,
  });
  expect(sent.status).toBe(200);
  await waitFor(async () => {
    sender.kick();
    return (await list('?status=delivered')).body.some((each) => each.id === letter!.id);
  });
  expect(JSON.parse(received[before]!.text)).toMatchObject({ task: { id } });
  expect(await failed()).toEqual([]);
  await clear();
});

it.each([
  ['a private address', { url: 'http://127.0.0.1:1/x' }, -32602],
  ['the metadata of a cloud', { url: 'http://169.254.169.254/latest' }, -32602],
  ['another scheme', { url: 'ftp://example.com/' }, -32602],
  ['a password in it', { url: 'https://a:b@example.com/' }, -32602],
  ['a token of several lines', { url: 'https://example.com/', token: 'a\nb: c' }, -32602],
  ['no URL', { token: 'x' }, -32602],
  ['another’s task', { taskId: newId(), url: 'https://example.com/' }, -32001],
])('a configuration with %s is refused, and nothing is kept', async (_what, config, code) => {
  const taskId = await send();
  const params = { taskId, ...config };
  const before = await database.db.$count(schema.webhooks);
  expect((await ask('CreateTaskPushNotificationConfig', params)).error?.code).toBe(code);
  expect(await database.db.$count(schema.webhooks)).toBe(before);
});

it('a receiver that takes its time has a part of the places, and another company’s client is told at once', async () => {
  const slow = await send();
  const url = hook.replace('/hook', '/slow');
  for (let n = 0; n < 10; n += 1)
    await ask('CreateTaskPushNotificationConfig', { taskId: slow, id: `slow ${n}`, url });
  await ask('CancelTask', { id: slow });
  await waitFor(() => {
    sender.kick();
    return held.length === 8;
  });
  await database.db
    .update(schema.agents)
    .set({ externally_available: true })
    .where(eq(schema.agents.id, cast.other_agent_id));
  const other = await send({ taskPushNotificationConfig: { url: hook } }, 'foreign_agent');
  await ask('CancelTask', { id: other }, 'foreign_agent');
  await told(other, 1);
  expect(held).toHaveLength(8);
  for (const response of held) response.end();
  await waitFor(() => {
    sender.kick();
    return held.length === 10;
  });
  for (const response of held) response.end();
});
