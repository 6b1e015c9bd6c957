/** Streams of the agent-to-agent protocol, and arbitrary input to it. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createLogger, loadConfig, newId } from '@acp/kernel';
import { databaseWithQueue, testDatabase } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import * as fc from 'fast-check';
import { createApp } from '../../apps/web/src/app.ts';
import { listen, type WebServer } from '../../apps/web/src/http/server.ts';
import { LiveHub } from '../../apps/web/src/live/hub.ts';
import { AtWork } from './a2a-stage.ts';
import { type Cast, createCast } from './cast.ts';

let database: Database;
let hub: LiveHub;
let server: WebServer;
let cast: Cast;
let agent: AtWork;
let url: string;

beforeAll(async () => {
  const kit = await testDatabase();
  database = await databaseWithQueue();
  void kit.notifier;
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  const config = loadConfig({ RATE_LIMIT_RPM: '0' });
  hub = new LiveHub({ database, listener: kit.listener, logger, max_streams_each: 20 });
  await kit.listener.ready();
  await hub.start();
  const app = createApp({ database, logger, config, hub, validate_responses: true });
  server = await listen(app, { host: '127.0.0.1', port: 0 });
  cast = await createCast(database);
  agent = new AtWork(database, cast.agent_id);
  url = `${server.url}/companies/${cast.company_id}/agents/${cast.agent_id}/a2a`;
});

afterAll(async () => {
  hub.close();
  await server.stop(0);
});

type Who = 'agent' | 'foreign_agent';

async function send(contextId?: string): Promise<{ id: string; contextId: string }> {
  const of = contextId === undefined ? {} : { contextId };
  const message = { messageId: newId(), role: 'ROLE_USER', parts: [{ text: 'Streamed' }], ...of };
  const params = { message, configuration: { returnImmediately: true } };
  const { text } = await first({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }, 'agent');
  const { result } = JSON.parse(text) as { result: { task: { id: string; contextId: string } } };
  return result.task;
}

/** Reads the first event or the whole response, then stops reading. */
async function first(body: object, caller: Who): Promise<{ status: number; text: string }> {
  const left = new AbortController();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...cast[caller].headers },
    body: JSON.stringify(body),
    signal: AbortSignal.any([left.signal, AbortSignal.timeout(60_000)]),
  });
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes('\n\n')) break;
  }
  left.abort();
  return { status: response.status, text };
}

it('streams of anything at all begin with an answer, end when they are left, and keep no place', async () => {
  const mine = await send();
  const word = fc.oneof(fc.constantFrom(mine.id, '', newId()), fc.string());
  const params = fc.oneof(
    fc.record({ id: word, taskId: word }, { requiredKeys: [] }),
    fc.record({
      message: fc.record(
        {
          messageId: fc.string(),
          role: fc.constantFrom('user', 'ROLE_USER'),
          taskId: word,
          parts: fc.array(fc.record({ text: fc.string() })),
        },
        { requiredKeys: ['messageId', 'role', 'parts'] },
      ),
    }),
    fc.jsonValue(),
  );
  const method = fc.constantFrom(
    'message/stream',
    'SendStreamingMessage',
    'tasks/resubscribe',
    'SubscribeToTask',
  );
  const who = fc.constantFrom<Who>('agent', 'foreign_agent');
  // More than a key may have open at a time, so a slot that is not released is noticed.
  await fc.assert(
    fc.asyncProperty(method, params, who, async (name, sent, caller) => {
      const { status, text } = await first({ jsonrpc: '2.0', id: 1, method: name, params: sent }, caller);
      expect(status).toBe(caller === 'agent' ? 200 : 404);
      const { result, error } = JSON.parse(text.replace(/^data: /, '').split('\n\n')[0]!) as {
        result?: object;
        error?: object;
      };
      expect(result === undefined).toBe(error !== undefined);
      expect([caller, text.includes(mine.contextId)]).not.toEqual(['foreign_agent', true]);
    }),
    { numRuns: 60 },
  );
  const again = { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: mine.id } };
  const last = await first(again, 'agent');
  expect(last.text).toContain(mine.contextId);
});

it('who subscribes in 1.0 stays while the agent waits for an answer, and hears the end', async () => {
  const { id } = await send();
  await agent.ask(id, 'Which one?');
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...cast.agent.headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }),
    signal: AbortSignal.timeout(60_000),
  });
  const states: string[] = [];
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    if (states.length === 0) await agent.finish(id, 'That one.');
    states.push(...[...chunk.matchAll(/"state":"(\w+)"/g)].map(([, state]) => state!));
  }
  expect([states[0], states.at(-1)]).toEqual(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_COMPLETED']);
});

it('a subscriber hears on after what the agent said last is deleted', async () => {
  const { id } = await send();
  await agent.ask(id, 'Which one?');
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...cast.agent.headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }),
    signal: AbortSignal.timeout(60_000),
  });
  const acts = [
    async () => agent.say(id, 'A slip'),
    async () => {
      await database.db.delete(schema.comments).where(eq(schema.comments.issue_id, id));
      await agent.say(id, 'In earnest');
    },
    async () => agent.finish(id, 'That one.'),
  ];
  const heard: string[] = [];
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const texts = [...chunk.matchAll(/"text":"([^"]+)"/g)].map(([, text]) => text!);
    heard.push(...texts);
    if (texts.length > 0) await acts.shift()?.();
  }
  expect(heard).toEqual(expect.arrayContaining(['A slip', 'In earnest', 'That one.']));
});

it('an agent that sets its task to done in its answer completes it by the end of the run, answer included', async () => {
  const { id } = await send();
  const { heartbeat_runs } = schema;
  const run_id = newId();
  await database.db.insert(heartbeat_runs).values({
    id: run_id,
    company_id: cast.company_id,
    agent_id: cast.agent_id,
    issue_id: id,
    status: 'running',
    wake_reason: 'comment',
    adapter_type: 'llm',
  });
  await agent.setDone(id);
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...cast.agent.headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }),
    signal: AbortSignal.timeout(20_000),
  });
  const told: string[] = [];
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    if (told.length === 0) await agent.endRun(run_id, id, 'There are 12 crates.');
    told.push(...chunk.trim().split('\n\n'));
  }
  expect(told[0]).toContain('"state":"TASK_STATE_WORKING"');
  expect(told.at(-1)).toMatch(/"TASK_STATE_COMPLETED".*There are 12 crates\./);
});

it('an agent that answers and leaves its task open gives the word back: the stream ends, and the next message goes on', async () => {
  const { id, contextId } = await send();
  const { heartbeat_runs, wakeup_requests } = schema;
  const run_id = newId();
  await database.db
    .update(wakeup_requests)
    .set({ status: 'consumed' })
    .where(eq(wakeup_requests.issue_id, id));
  await database.db.insert(heartbeat_runs).values({
    id: run_id,
    company_id: cast.company_id,
    agent_id: cast.agent_id,
    issue_id: id,
    status: 'running',
    wake_reason: 'comment',
    adapter_type: 'llm',
  });
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...cast.agent.headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params: { id } }),
    signal: AbortSignal.timeout(20_000),
  });
  const told: string[] = [];
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    if (told.length === 0) await agent.endRun(run_id, id, 'There are 12 crates.');
    told.push(...chunk.trim().split('\n\n'));
  }
  expect(told.at(-1)).toMatch(/"input-required".*There are 12 crates\./);
  expect(told.at(-1)).toContain('"final":true');
  expect(await send(contextId)).toMatchObject({ id, status: { state: 'TASK_STATE_WORKING' } });
});

it('a message that was taken in is answered with its task, however many streams its client has open', async () => {
  const { id } = await send();
  const ask = async (method: string, params: object, signal = AbortSignal.timeout(60_000)) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...cast.agent.headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal,
    });
  const left = new AbortController();
  const open = async () => (await ask('SubscribeToTask', { id }, left.signal)).body!.getReader().read();
  await Promise.all(Array.from({ length: 20 }, open));
  expect(await (await ask('SubscribeToTask', { id })).text()).toContain('too many live streams are open');
  const text = (method: string) => {
    const message = { messageId: newId(), role: 'ROLE_USER', parts: [{ text: 'One more' }] };
    return ask(method, { message }).then(async (response) => response.text());
  };
  for (const method of ['SendMessage', 'SendStreamingMessage'])
    expect(await text(method)).toContain('"state":"TASK_STATE_SUBMITTED"');
  left.abort();
});

it('anything at all is answered in the protocol, and another company’s tasks are not found', async () => {
  const { id } = await send();
  const word = fc.oneof(fc.constantFrom(id, '', 'x', newId()), fc.string());
  const params = fc.oneof(
    fc.record(
      { id: word, historyLength: fc.oneof(fc.integer(), fc.constant(null)), contextId: word },
      { requiredKeys: [] },
    ),
    fc.record({
      message: fc.record(
        {
          messageId: fc.string(),
          taskId: word,
          contextId: word,
          role: fc.constantFrom('user', 'ROLE_USER', 'agent'),
          parts: fc.array(
            fc.oneof(fc.record({ text: fc.string() }), fc.record({ raw: fc.string() }), fc.object()),
          ),
        },
        { requiredKeys: ['messageId', 'role', 'parts'] },
      ),
      configuration: fc.constant({ returnImmediately: true, blocking: false }),
    }),
    fc.jsonValue(),
  );
  const method = fc.constantFrom(
    'message/send',
    'SendMessage',
    'tasks/get',
    'GetTask',
    'tasks/cancel',
    'CancelTask',
    'tasks/list',
    'ListTasks',
    '__proto__',
    'tasks/pushNotificationConfig/set',
    'CreateTaskPushNotificationConfig',
  );
  const sent = fc.oneof(
    fc.record({ jsonrpc: fc.constantFrom('2.0', '1.0'), id: fc.constantFrom(1, 'a', null), method, params }),
    fc.jsonValue(),
  );
  await fc.assert(
    fc.asyncProperty(sent, fc.constantFrom<Who>('agent', 'foreign_agent'), async (body, who) => {
      const { status, text } = await first(body as object, who);
      const { result, error } = JSON.parse(text) as { result?: object; error?: object };
      expect([200, 400, 404]).toContain(status);
      expect(result === undefined).toBe(error !== undefined);
      expect(who === 'foreign_agent' ? result : undefined).toBeUndefined();
    }),
    { numRuns: 150 },
  );
});

it('a list of tasks with more history than one answer may have is refused, and read in shorter ones', async () => {
  const contextId = newId();
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    const { id } = await send(contextId);
    for (let said = 0; said < 4; said += 1) await agent.say(id, 'x'.repeat(950_000));
    ids.push(id);
  }
  const list = async (params: object) => {
    const asked = { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: { contextId, ...params } };
    return JSON.parse((await first(asked, 'agent')).text) as {
      result?: { tasks: { id: string; history?: object[] }[] };
      error?: { code: number; message: string };
    };
  };
  expect((await list({ historyLength: 100 })).error).toMatchObject({
    code: -32602,
    message: 'the answer would be too large: ask for fewer tasks, or a shorter history',
  });
  const short = await list({ historyLength: 1 });
  expect(short.result?.tasks.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect((await list({ pageSize: 1, historyLength: 100 })).result?.tasks[0]?.history).toHaveLength(5);
});

it('who follows a task hears nothing more of an agent that is not for clients any more', async () => {
  const { id } = await send();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...cast.agent.headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }),
    signal: AbortSignal.timeout(60_000),
  });
  const offer = async (externally_available: boolean) =>
    database.db
      .update(schema.agents)
      .set({ externally_available })
      .where(eq(schema.agents.id, cast.agent_id));
  await offer(false);
  await agent.finish(id, 'For the company alone.');
  const text = await response.text();
  await offer(true);
  expect(text).not.toContain('For the company alone.');
  expect(text).toContain('task not found');
});
