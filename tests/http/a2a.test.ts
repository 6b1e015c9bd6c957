/** The agent-to-agent protocol from the outside: the official clients of both generations and raw requests. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AgentCard, SendMessageRequest, type Task as Task1, TaskState } from '@a2a-js/sdk';
import type { Task as Task0, TaskStatusUpdateEvent } from 'a2a-sdk-0.3';
import { createIssue, putFlag, systemActor } from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { createLogger, loadConfig, newId } from '@acp/kernel';
import {
  createKeyOf,
  createRunningRun,
  databaseWithQueue,
  nextInstant,
  queuedJobs,
  testDatabase,
  waitFor,
} from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { createApp } from '../../apps/web/src/app.ts';
import { InstanceState } from '../../apps/web/src/http/instance-state.ts';
import { listen, type WebServer } from '../../apps/web/src/http/server.ts';
import { createServices } from '../../apps/web/src/http/services.ts';
import { LiveHub } from '../../apps/web/src/live/hub.ts';
import { AtWork, clientsOf, fetchAs, PUBLIC_URL } from './a2a-stage.ts';
import { bearer, type Cast, createCast } from './cast.ts';

let database: Database;
let hub: LiveHub;
let instance: InstanceState;
let server: WebServer;
let cast: Cast;
let agent: AtWork;
let path: string;

beforeAll(async () => {
  const kit = await testDatabase();
  database = await databaseWithQueue();
  void kit.notifier;
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  const config = loadConfig({
    RATE_LIMIT_RPM: '0',
    SERVICE_PUBLIC_URL: PUBLIC_URL,
    SERVICE_A2A_WAIT_SEC: '20',
  });
  hub = new LiveHub({ database, listener: kit.listener, logger, max_streams_each: 20 });
  await kit.listener.ready();
  await hub.start();
  instance = new InstanceState({ database, logger, listener: kit.listener });
  await instance.refresh();
  const services = createServices({ database, config, logger, instance });
  const app = createApp({ database, logger, config, services, hub, validate_responses: true });
  server = await listen(app, { host: '127.0.0.1', port: 0 });
  cast = await createCast(database);
  agent = new AtWork(database, cast.agent_id);
  path = `/companies/${cast.company_id}/agents/${cast.agent_id}`;
});

afterAll(async () => {
  hub.close();
  instance.close();
  await server.stop(0);
});

type Who = 'agent' | 'board_admin' | 'foreign_agent' | 'anonymous';
interface Answer {
  status: number;
  result: Record<string, unknown> & { id?: string; task?: { id: string } };
  error?: { code: number; message: string; data?: { reason?: string }[] };
}

async function post(
  body: unknown,
  headers: Record<string, string> = {},
  who: Who = 'agent',
): Promise<Answer> {
  const response = await fetch(`${server.url}${path}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...cast[who].headers, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const json = text.startsWith('data: ') ? text.slice('data: '.length).split('\n\n')[0]! : text;
  return { status: response.status, ...(JSON.parse(json || '{}') as Omit<Answer, 'status'>) };
}

const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const message = (text: string, more: object = {}) => ({
  messageId: newId(),
  role: 'ROLE_USER',
  parts: [{ text }],
  ...more,
});
/** Returns immediately instead of waiting. */
const send = async (text: string, more: object = {}) => {
  const sent = { message: message(text, more), configuration: { returnImmediately: true } };
  return (await post(rpc('SendMessage', sent))).result.task as unknown as {
    id: string;
    contextId: string;
    status: { state: string };
  };
};
/** The client's follow-up message has arrived. */
const answered = async (issue_id: string) =>
  waitFor(async () => {
    const { a2a_messages } = schema;
    const rows = await database.db.select().from(a2a_messages).where(eq(a2a_messages.issue_id, issue_id));
    return rows.length > 1;
  });
const codeOf = async (method: string, params: object) => (await post(rpc(method, params))).error?.code;
const clients = async () => clientsOf(fetchAs(server.url, cast.agent.headers), `${path}/agent-card.json`);

describe('agents behind a message', () => {
  const depthOf = async (issue_id: string) => {
    const { wakeup_requests } = schema;
    const [row] = await database.db
      .select()
      .from(wakeup_requests)
      .where(eq(wakeup_requests.issue_id, issue_id));
    return row?.depth;
  };

  it('count on where another instance says so, up to the bound; other words are none', async () => {
    const sent = await send('From an agent', { metadata: { causeDepth: 4 } });
    expect(await depthOf(sent.id)).toBe(4);
    expect(await depthOf((await send('From a person', { metadata: { causeDepth: '9' } })).id)).toBe(0);
    const refused = { message: message('Round and round', { metadata: { causeDepth: 13 } }) };
    expect((await post(rpc('SendMessage', refused))).error?.message).toContain('too many agents');
  });
});

describe('cards', () => {
  it('of an agent: 1.0 alone for who asks for it, else both versions; neither needs a key', async () => {
    const read = async (headers: Record<string, string> = {}) => {
      const response = await fetch(`${server.url}${path}/agent-card.json`, { headers });
      expect(response.headers.get('vary')).toContain('A2A-Version');
      return (await response.json()) as Record<string, unknown>;
    };
    const pure = await read({ 'a2a-version': '1.0' });
    const again = async (version: string) => {
      const url = `${server.url}${path}/agent-card.json`;
      const etag = (await fetch(url, { headers: { 'a2a-version': '1.0' } })).headers.get('etag')!;
      return (await fetch(url, { headers: { 'a2a-version': version, 'if-none-match': etag } })).status;
    };
    expect([await again('1.0'), await again('0.3')]).toEqual([304, 200]);
    for (const known of [
      '"'.repeat(15_000),
      ','.repeat(15_000),
      `${' '.repeat(15_000)}"`,
      'W/"'.repeat(5000),
    ])
      expect(await read({ 'a2a-version': '1.0', 'if-none-match': known })).toEqual(pure);
    expect(Object.keys(pure).toSorted()).toEqual(
      Object.keys(AgentCard.toJSON(AgentCard.fromJSON(pure)) as object).toSorted(),
    );
    expect(pure).toMatchObject({
      supportedInterfaces: [
        { url: `${PUBLIC_URL}${path}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { protocolVersion: '0.3' },
      ],
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    });
    expect(await read()).toMatchObject({
      protocolVersion: '1.0',
      url: `${PUBLIC_URL}${path}/a2a`,
      preferredTransport: 'JSONRPC',
      securitySchemes: { bearer: { type: 'http' }, api_key: { type: 'apiKey', name: 'Authorization' } },
      security: [{ bearer: [] }, { api_key: [] }],
      capabilities: { streaming: true },
      skills: [{ tags: ['general'] }],
    });
  });

  it('of an agent, extended: to its key, with what it bears, in the dialect of the method', async () => {
    const params = {
      waitSeconds: 20,
      maxRequestBytes: 1_048_576,
      maxHistoryMessages: 100,
      maxArtifacts: 100,
    };
    const { result } = await post(rpc('GetExtendedAgentCard'));
    expect(result).toMatchObject({
      supportedInterfaces: [{ url: `${PUBLIC_URL}${path}/a2a` }, {}],
      capabilities: { extendedAgentCard: true, extensions: [{ required: false, params }] },
    });
    expect((await post(rpc('agent/getAuthenticatedExtendedCard'))).result).toMatchObject({
      protocolVersion: '1.0',
      supportsAuthenticatedExtendedCard: true,
      capabilities: { extensions: [{ params }] },
    });
    expect((await post(rpc('GetExtendedAgentCard'), {}, 'anonymous')).status).toBe(401);
  });

  it('of a company: its externally available agents, and none of another’s or of one that is not open', async () => {
    const directory = async (company: string) => {
      const response = await fetch(`${server.url}/companies/${company}/.well-known/agent-card.json`);
      return { status: response.status, body: (await response.json()) as { agents: unknown[] } };
    };
    const { body } = await directory(cast.company_id);
    expect(body.agents).toEqual([
      expect.objectContaining({ id: cast.agent_id, url: `${PUBLIC_URL}${path}/a2a` }),
    ]);
    expect((await directory(newId())).status).toBe(404);
    const other = `/companies/${cast.company_id}/agents/${cast.other_agent_id}/agent-card.json`;
    expect((await fetch(server.url + other)).status).toBe(404);
    const shut = await createCast(database);
    await transaction(database, async (tx) => {
      await tx
        .update(schema.agents)
        .set({ externally_available: false })
        .where(eq(schema.agents.id, shut.agent_id));
    });
    expect((await directory(shut.company_id)).body.agents).toEqual([]);
    const closed = `/companies/${shut.company_id}/agents/${shut.agent_id}`;
    expect((await fetch(`${server.url}${closed}/agent-card.json`)).status).toBe(404);
    const call = { method: 'POST', headers: { ...shut.agent.headers, 'content-type': 'application/json' } };
    expect((await fetch(`${server.url}${closed}/a2a`, { ...call, body: '{}' })).status).toBe(404);
  });
});

describe('the official clients', () => {
  it('1.x: a message becomes an issue, whose work streams until it is done; then it is got, listed and closed', async () => {
    const { v1 } = await clients();
    const events: string[] = [];
    let task: Task1 | undefined;
    const request = SendMessageRequest.fromJSON({ message: message('Write the report\n\nPlease.') });
    for await (const { payload } of v1.sendMessageStream(request)) {
      events.push(payload!.$case);
      if (payload?.$case !== 'task') continue;
      task = payload.value;
      expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: cast.agent_id })).not.toEqual([]);
      await agent.say(task.id, 'I look into it.');
      await agent.report(task.id, 'Report', '# All is well');
      await nextInstant();
      await agent.attach(task.id, 'table.csv');
      await agent.finish(task.id, 'Here it is.');
    }
    expect(events.at(0)).toBe('task');
    expect(events).toEqual(expect.arrayContaining(['statusUpdate', 'artifactUpdate']));
    const got = await v1.getTask({ tenant: '', id: task!.id });
    expect(got).toMatchObject({
      contextId: task!.contextId,
      status: { message: { parts: [{ content: { $case: 'text', value: 'Here it is.' } }] } },
      history: [{ messageId: request.message!.messageId }, {}, {}],
      artifacts: [
        { name: 'Report', parts: [{ content: { value: '# All is well' } }] },
        { name: 'table.csv', parts: [{ content: { $case: 'url' }, mediaType: 'text/csv' }] },
      ],
    });
    const [issue] = await database.db.select().from(schema.issues).where(eq(schema.issues.id, task!.id));
    expect(issue).toMatchObject({ title: 'Write the report', status: 'done', origin_kind: 'a2a' });
    const { tasks } = await v1.listTasks({
      tenant: '',
      contextId: task!.contextId,
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: '',
      statusTimestampAfter: undefined,
    });
    expect(tasks.map(({ id }) => id)).toEqual([task!.id]);
    await expect(v1.cancelTask({ tenant: '', id: task!.id, metadata: undefined })).rejects.toThrow(
      /completed/,
    );
    await expect(v1.getTask({ tenant: '', id: newId() })).rejects.toThrow(/not found/i);
  });

  it('0.3: a blocking send waits for the question, the answer goes on with the task, a resubscribed stream ends with it', async () => {
    const { v0 } = await clients();
    const say = (text: string, more: object = {}) =>
      v0.sendMessage({
        message: {
          kind: 'message',
          messageId: newId(),
          role: 'user',
          parts: [{ kind: 'text', text }],
          ...more,
        },
      }) as Promise<Task0>;
    const asking = say('Choose a colour');
    const issue = await waitFor(async () => {
      const rows = await database.db
        .select()
        .from(schema.issues)
        .where(eq(schema.issues.title, 'Choose a colour'));
      return rows[0];
    });
    await nextInstant();
    await agent.ask(issue.id, 'Red or blue?');
    const asked = await asking;
    await nextInstant();
    expect(asked).toMatchObject({
      kind: 'task',
      status: { state: 'input-required', message: { parts: [{ kind: 'text', text: 'Red or blue?' }] } },
    });
    const answering = say('Blue', { contextId: asked.contextId });
    const events: TaskStatusUpdateEvent[] = [];
    for await (const event of v0.resubscribeTask({ id: asked.id })) {
      if (event.kind === 'task') {
        await answered(asked.id);
        await nextInstant();
        await agent.finish(asked.id, 'Blue it is.');
      }
      if (event.kind === 'status-update') events.push(event);
    }
    expect(events.at(-1)).toMatchObject({ final: true, taskId: asked.id });
    expect(await answering).toMatchObject({ id: asked.id, status: { state: 'completed' } });
    expect((await v0.getTask({ id: asked.id })).history?.map(({ role }) => role)).toEqual([
      'user',
      'agent',
      'user',
      'agent',
    ]);
    await expect(v0.cancelTask({ id: newId() })).rejects.toThrow(/not found/i);
  });
});

describe('a message', () => {
  it('that is sent again makes nothing new; of another text under the same id it is another', async () => {
    const messageId = newId();
    const [one, two] = await Promise.all([send('Twice', { messageId }), send('Twice', { messageId })]);
    expect(two.id).toBe(one.id);
    expect((await send('Thrice', { messageId })).id).not.toBe(one.id);
  });

  it('with a context goes on with its conversation in a new task, which knows the former one', async () => {
    const first = await send('Name a bird');
    await agent.finish(first.id, 'The wren.');
    await nextInstant();
    const second = await send('Another', { contextId: first.contextId });
    expect([second.id === first.id, second.contextId]).toEqual([false, first.contextId]);
    const [issue] = await database.db.select().from(schema.issues).where(eq(schema.issues.id, second.id));
    expect(issue?.body_markdown).toMatch(/Name a bird[^]*> The wren\./);
    const listed = await post(rpc('tasks/list', { contextId: first.contextId, pageSize: 1 }));
    expect(listed.result).toMatchObject({ totalSize: 2, tasks: [{ id: second.id, kind: 'task' }] });
    const { nextPageToken: pageToken } = listed.result;
    const rest = await post(rpc('tasks/list', { contextId: first.contextId, pageSize: 1, pageToken }));
    expect(rest.result).toMatchObject({ tasks: [{ id: first.id }], nextPageToken: '' });
    const done = await post(rpc('ListTasks', { contextId: first.contextId, status: 'TASK_STATE_COMPLETED' }));
    // The page size is the number of items on the page.
    expect([done.result.pageSize, rest.result.pageSize]).toEqual([1, 1]);
    expect(done.result.tasks).toMatchObject([{ id: first.id, status: { state: 'TASK_STATE_COMPLETED' } }]);
  });

  it('may bring files, data and links, which the agent finds on the issue', async () => {
    const parts = [
      { kind: 'text', text: 'See these' },
      {
        kind: 'file',
        file: { bytes: Buffer.from('a,b').toString('base64'), name: '../t.csv', mimeType: 'text/csv' },
      },
      { kind: 'data', data: { a: 1 } },
      { kind: 'file', file: { uri: 'https://example.com/x' } },
    ];
    const configuration = { blocking: false };
    const { result } = await post(
      rpc('message/send', {
        message: { kind: 'message', messageId: newId(), role: 'user', parts },
        configuration,
      }),
    );
    const rows = await database.db
      .select()
      .from(schema.attachments)
      .where(eq(schema.attachments.issue_id, result.id!));
    expect(rows).toMatchObject([{ filename: 't.csv', size_bytes: 3, created_by_agent_id: null }]);
    expect(result).toMatchObject({
      status: { state: 'submitted' },
      artifacts: [],
      history: [
        {
          parts: [
            { kind: 'text' },
            { kind: 'file', file: { uri: `${PUBLIC_URL}/api/attachments/${rows[0]!.id}/download` } },
            { kind: 'data', data: { a: 1 } },
            { kind: 'file', file: { uri: 'https://example.com/x' } },
          ],
        },
      ],
    });
  });

  it('to a task that was cancelled is refused, and a second cancel changes nothing: in 0.3 it is refused, too', async () => {
    const { id } = await send('Stop this');
    const cancelled = await post(rpc('CancelTask', { id }));
    expect(cancelled.result).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } });
    expect((await post(rpc('CancelTask', { id }))).result).toMatchObject(cancelled.result);
    expect(await codeOf('tasks/cancel', { id })).toBe(-32002);
    expect(await codeOf('SendMessage', { message: message('More', { taskId: id }) })).toBe(-32004);
    expect(await codeOf('SubscribeToTask', { id })).toBe(-32004);
  });
});

describe('refusals', () => {
  it.each([
    ['no JSON', '{', 400, -32700],
    ['a batch', [rpc('tasks/get')], 200, -32600],
    ['another version of JSON-RPC', { jsonrpc: '1.0', id: 1, method: 'tasks/get' }, 200, -32600],
    ['no id', { jsonrpc: '2.0', method: 'tasks/get', params: { id: 'x' } }, 200, -32600],
    ['an unknown method', rpc('tasks/destroy'), 200, -32601],
    ['a method named like a property', rpc('constructor'), 200, -32601],
    ['a task without an id', rpc('tasks/get'), 200, -32602],
    ['a task that is none', rpc('tasks/get', { id: 'x' }), 200, -32001],
    ['a message without parts', rpc('SendMessage', { message: message('', { parts: [] }) }), 200, -32602],
    ['a message without words', rpc('SendMessage', { message: message(' ') }), 200, -32602],
    ['a part of nothing', rpc('SendMessage', { message: message('', { parts: [{}] }) }), 200, -32602],
    [
      'bytes that are none',
      rpc('SendMessage', { message: message('', { parts: [{ raw: '#' }] }) }),
      200,
      -32602,
    ],
    [
      'a link to a file',
      rpc('SendMessage', { message: message('', { parts: [{ url: 'file:///etc' }] }) }),
      200,
      -32602,
    ],
    [
      'an unknown task in a message',
      rpc('SendMessage', { message: message('x', { taskId: newId() }) }),
      200,
      -32001,
    ],
    [
      'an unknown task in a stream',
      rpc('message/stream', { message: message('x', { taskId: newId(), role: 'user' }) }),
      200,
      -32001,
    ],
    [
      'output that is not ours',
      rpc('SendMessage', { message: message('x'), configuration: { acceptedOutputModes: ['image/png'] } }),
      200,
      -32005,
    ],
    ['a message of nobody', rpc('SendMessage', { message: message('x', { role: undefined }) }), 200, -32602],
    [
      'a message of an agent',
      rpc('SendMessage', { message: message('x', { role: 'ROLE_AGENT' }) }),
      200,
      -32602,
    ],
    [
      'a part of another kind',
      rpc('SendMessage', { message: message('', { parts: [{ kind: 'video', text: 'x' }] }) }),
      200,
      -32602,
    ],
    ['a state that is none', rpc('ListTasks', { status: 'TASK_STATE_GONE' }), 200, -32602],
    ['a token that is none', rpc('ListTasks', { pageToken: 'x' }), 200, -32602],
    ['a page of nothing', rpc('ListTasks', { pageSize: 0 }), 200, -32602],
    ['a time that is none', rpc('ListTasks', { statusTimestampAfter: '-1' }), 200, -32602],
  ])('%s', async (_what, body, status, code) => {
    const answer = await post(body);
    expect([answer.status, answer.error?.code]).toEqual([status, code]);
  });

  it('an unknown version, in the words of 1.0', async () => {
    const { error } = await post(rpc('GetTask', { id: newId() }), { 'a2a-version': '2.0' });
    expect(error).toMatchObject({ code: -32009, data: [{ reason: 'VERSION_NOT_SUPPORTED' }] });
    expect((await post(rpc('GetTask', { id: newId() }), { 'a2a-version': '1.0' })).error?.code).toBe(-32001);
  });

  it('whoever is not the agent; the key of a run; tasks of others and issues that are no tasks', async () => {
    const { id } = await send('Mine');
    const get = rpc('tasks/get', { id });
    expect((await post(get, {}, 'anonymous')).status).toBe(401);
    expect((await post(get, {}, 'board_admin')).status).toBe(404);
    expect((await post(get, {}, 'foreign_agent')).status).toBe(404);
    const issue = await transaction(database, async (tx) =>
      createIssue(tx, systemActor('test'), cast.company_id, {
        title: 'Inner',
        assignee_agent_id: cast.agent_id,
      }),
    );
    expect(await codeOf('tasks/get', { id: issue.id })).toBe(-32001);
    const { ada, run } = await createRunningRun(database.db);
    await database.db
      .update(schema.agents)
      .set({ externally_available: true })
      .where(eq(schema.agents.id, ada.id));
    const key = await createKeyOf(database.db, ada, { run_id: run.run_id });
    const response = await fetch(`${server.url}/companies/${ada.company_id}/agents/${ada.id}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(key.raw_key) },
      body: JSON.stringify(rpc('SendMessage', { message: message('To myself') })),
    });
    expect(await response.json()).toMatchObject({ error: { message: 'a run’s key cannot open a task' } });
  });

  it('everything while the feature is off', async () => {
    const { id } = await send('Before');
    const switched = async (value: boolean) =>
      transaction(database, async (tx) => putFlag(tx, systemActor('test'), 'a2a', { value }));
    await switched(false);
    await waitFor(async () => (await post(rpc('tasks/get', { id }))).status === 404);
    expect((await fetch(`${server.url}${path}/agent-card.json`)).status).toBe(404);
    await switched(true);
    await waitFor(async () => (await post(rpc('tasks/get', { id }))).status === 200);
  });
});
