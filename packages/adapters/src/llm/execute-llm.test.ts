import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createGuardedFetch } from '@acp/kernel';
import { startFakeModel, waitFor, type FakeModel, type FakeModelReply } from '@acp/testkit';
import { AdapterError } from '../adapter-error.ts';
import { execute } from '../execute.ts';
import type { AdapterEvent, AdapterTask, ProviderSpec } from '../task.ts';

const key = 'sk-secret-0123456789';
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
});

/** A fake model that gives these replies in turn, repeating the last one. */
async function fakeModel(...replies: (FakeModelReply | string)[]): Promise<FakeModel> {
  const model = await startFakeModel({ script: ({ n }) => replies[Math.min(n, replies.length) - 1] ?? 'ok' });
  cleanups.push(() => model.close());
  return model;
}

async function rawServer(handler: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}`, server };
}

const guarded = createGuardedFetch({ egress: 'any' });

function taskFor(
  baseUrl: string,
  over: Partial<AdapterTask> = {},
  provider: Partial<ProviderSpec> = {},
): AdapterTask {
  return {
    run_id: 'run',
    adapter_type: 'llm',
    provider: { family: 'family_compat', api_key: key, base_url: baseUrl, fetch: guarded, ...provider },
    model: 'test-model',
    system_prompt: 'Be brief.',
    messages: [{ role: 'user', content: 'Hello' }],
    max_output_tokens: 100,
    timeouts: { idle_sec: 10, total_sec: 10 },
    adapter_config: {},
    ...over,
  };
}

interface Outcome {
  events: AdapterEvent[];
  text: string;
  failure: AdapterError | null;
}

/** Runs a task to its end; any error must be one of ours and contain no key. */
async function outcomeOf(task: AdapterTask, signal = new AbortController().signal): Promise<Outcome> {
  const events: AdapterEvent[] = [];
  let failure: AdapterError | null = null;
  try {
    for await (const event of execute(task, signal)) events.push(event);
  } catch (error) {
    if (!(error instanceof AdapterError)) throw error;
    failure = error;
  }
  expect(JSON.stringify([failure?.message, failure?.stack, failure, events])).not.toContain(key);
  return {
    events,
    failure,
    text: events.map((event) => (event.kind === 'output' ? event.text : '')).join(''),
  };
}

describe('an answer', () => {
  it.each(['family_compat', 'family_chat_a'] as const)(
    'of %s is streamed, then its usage reported',
    async (family) => {
      const model = await fakeModel({
        chunks: ['Hel', 'lo'],
        usage: { input_tokens: 50, output_tokens: 7, cached_tokens: 20 },
      });
      const provider = { family, custom_headers: { 'x-team': 'blue' } };
      const { events, failure } = await outcomeOf(taskFor(model.url, {}, provider));
      expect(failure).toBeNull();
      expect(events).toEqual([
        { kind: 'output', text: 'Hel' },
        { kind: 'output', text: 'lo' },
        { kind: 'usage', model: 'test-model', input_tokens: 50, output_tokens: 7, cached_tokens: 20 },
      ]);
      const [request] = model.requests;
      expect(request).toMatchObject({ model: 'test-model', stream: true, body: { max_tokens: 100 } });
      expect(request?.headers).toMatchObject({ authorization: `Bearer ${key}`, 'x-team': 'blue' });
      expect(request?.messages).toEqual([
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ]);
    },
  );

  it('without reported usage is flagged, with an estimate in its place', async () => {
    const model = await fakeModel({ text: 'x'.repeat(40), usage: null });
    const { events } = await outcomeOf(
      taskFor(model.url, { messages: [{ role: 'user', content: 'y'.repeat(400) }] }),
    );
    expect(events.at(-1)).toMatchObject({
      kind: 'usage',
      input_tokens: 103,
      output_tokens: 10,
      usage_missing: true,
    });
  });

  it('to empty and neighbouring messages of one role is asked for with roles that alternate', async () => {
    const model = await fakeModel('ok');
    const content = ['a', 'b', ' ', 'c'].map((text) => ({ role: 'user' as const, content: text }));
    await outcomeOf(taskFor(model.url, { system_prompt: ' ', messages: content }));
    expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: 'a\n\nb\n\nc' }]);
  });

  it('that reached its limit, or was filtered, says so in the log', async () => {
    const model = await fakeModel({ finish_reason: 'length' }, { finish_reason: 'content_filter' });
    const logs = [(await outcomeOf(taskFor(model.url))).events, (await outcomeOf(taskFor(model.url))).events]
      .flat()
      .filter((event) => event.kind === 'log');
    expect(logs.map(({ message }) => message)).toEqual([
      'the answer was cut off at max_output_tokens',
      'the provider filtered the answer',
    ]);
  });

  it('needs no key where the endpoint needs none, and keeps the query of the base URL', async () => {
    const model = await fakeModel('ok');
    const { text } = await outcomeOf(taskFor(model.url, {}, { api_key: null }));
    expect(text).toBe('ok');
    expect(model.requests[0]?.headers.authorization).toBeUndefined();
    let path = '';
    const { url } = await rawServer((request, response) => {
      path = request.url ?? '';
      response.writeHead(401).end();
    });
    await outcomeOf(taskFor(`${url}/openai/?api-version=1`));
    expect(path).toBe('/openai/chat/completions?api-version=1');
  });

  it('of one call after another comes over connections that are kept', async () => {
    let connections = 0;
    const model = await fakeModel('ok');
    async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const body = Buffer.concat(await request.toArray());
      const answer = await fetch(`${model.url}/chat/completions`, { method: 'POST', body });
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(await answer.text());
    }
    const { url, server } = await rawServer((request, response) => {
      void relay(request, response);
    });
    server.on('connection', () => (connections += 1));
    for (let call = 0; call < 8; call += 1) expect((await outcomeOf(taskFor(url))).text).toBe('ok');
    // A call that starts before the previous one's socket is free opens a second one.
    expect(connections).toBeLessThan(3);
  });

  it('of each of 40 calls at once is its own', async () => {
    const model = await startFakeModel({
      script: ({ messages }) => ({ text: messages.at(-1)?.content ?? '', delay_ms: 5 }),
    });
    cleanups.push(() => model.close());
    const calls = Array.from({ length: 40 }, (_call, index) => `call ${index}`);
    const texts = await Promise.all(
      calls.map(
        async (content) =>
          (await outcomeOf(taskFor(model.url, { messages: [{ role: 'user', content }] }))).text,
      ),
    );
    expect(texts).toEqual(calls);
  });
});

describe('a refusal by the provider', () => {
  const cases: [string, FakeModelReply, string][] = [
    ['401', { status: 401, error: { message: `Incorrect API key provided: ${key}` } }, 'auth'],
    ['403', { status: 403 }, 'auth'],
    ['402', { status: 402, error: { message: 'Insufficient Balance' } }, 'quota'],
    [
      '429 for want of credit',
      { status: 429, error: { message: 'pay', code: 'insufficient_quota' } },
      'quota',
    ],
    ['429 for an hour', { status: 429, retry_after: 3600 }, 'quota'],
    [
      '400 for want of credit',
      { status: 400, error: { message: 'Your credit balance is too low' } },
      'quota',
    ],
    ['404', { status: 404, error: { message: 'The model does not exist' } }, 'config'],
    ['400', { status: 400, error: { message: `too long, ${key}` } }, 'permanent'],
    ['503 for an hour', { status: 503, retry_after: 3600 }, 'transient'],
  ];
  it.each(cases)(
    'with %s ends the call at once, without its key in the message',
    async (_case, reply, category) => {
      const model = await fakeModel(reply);
      const { failure, events } = await outcomeOf(taskFor(model.url));
      expect(failure).toMatchObject({ category, status: reply.status });
      expect(failure?.message).toMatch(new RegExp(`^the provider answered ${reply.status}: `));
      expect(events).toEqual([]);
      expect(model.count()).toBe(1);
      expect(failure?.retry_after_sec).toBe(reply.retry_after);
    },
  );

  it('for a quota names its reset', async () => {
    const model = await fakeModel({ status: 429, retry_after: 3600 });
    const { failure } = await outcomeOf(taskFor(model.url));
    expect(Math.abs((failure?.reset_at?.getTime() ?? 0) - Date.now() - 3_600_000)).toBeLessThan(5000);
    const absurd = await fakeModel({ status: 429, retry_after: '9e15' });
    expect((await outcomeOf(taskFor(absurd.url))).failure?.reset_at?.toISOString()).toMatch(/^20/);
  });

  it('that is transient is tried again twice, with the wait it asks for, and logged', async () => {
    const model = await fakeModel(
      { status: 429, retry_after: 0 },
      { status: 500, retry_after: 0 },
      'at last',
    );
    const { text, events } = await outcomeOf(taskFor(model.url));
    expect(text).toBe('at last');
    expect(model.count()).toBe(3);
    const logs = events.flatMap((event) => (event.kind === 'log' ? [event.message] : []));
    expect(logs).toEqual([
      expect.stringMatching(/^the provider answered 429: .*; trying again in 0\.\d s$/),
      expect.stringMatching(/^the provider answered 500: .*; trying again in 0\.\d s$/),
    ]);
  });

  it('that stays is reported after the third attempt', async () => {
    const model = await fakeModel({ status: 429, retry_after: 0 });
    expect((await outcomeOf(taskFor(model.url))).failure).toMatchObject({
      category: 'transient',
      status: 429,
    });
    expect(model.count()).toBe(3);
  });

  it('by a redirect is not followed: the key stays', async () => {
    const elsewhere = await fakeModel('caught');
    const { url } = await rawServer((_request, response) => {
      response.writeHead(307, { location: `${elsewhere.url}/chat/completions` }).end();
    });
    const { failure } = await outcomeOf(taskFor(url));
    expect(failure).toMatchObject({ category: 'config', status: 307 });
    expect(elsewhere.count()).toBe(0);
  });
});

/** Cancels a call at a chosen point; it must end immediately, as cancelled. */
async function cancelWhen(
  replies: FakeModelReply[],
  ready: (model: FakeModel) => boolean,
): Promise<FakeModel> {
  const model = await fakeModel(...replies);
  const controller = new AbortController();
  const outcome = outcomeOf(taskFor(model.url), controller.signal);
  await waitFor(() => ready(model));
  controller.abort();
  const { failure } = await outcome;
  expect(failure?.category).toBe('cancelled');
  return model;
}

describe('a cancel', () => {
  it.each(['headers', 'body', 'end'] as const)(
    'while the provider is silent (%s) closes the socket at once',
    async (stall) => {
      const model = await cancelWhen([{ stall, text: 'begun' }], ({ requests }) => requests.length === 1);
      await waitFor(() => model.requests[0]?.state !== 'open');
      expect(model.requests[0]?.state).toBe('aborted');
    },
  );

  it('while it waits to try again ends the call', async () => {
    const model = await cancelWhen(
      [{ status: 503, retry_after: 15 }],
      ({ requests }) => requests[0]?.state === 'answered',
    );
    expect(model.count()).toBe(1);
  });

  it('before the start sends nothing', async () => {
    const model = await fakeModel('ok');
    const { failure } = await outcomeOf(taskFor(model.url), AbortSignal.abort());
    expect(failure?.category).toBe('cancelled');
    expect(model.count()).toBe(0);
  });

  it('in the form of leaving the iteration closes the socket', async () => {
    const model = await fakeModel({ chunks: ['a', 'b'], stall: 'end' });
    for await (const event of execute(taskFor(model.url), new AbortController().signal)) {
      expect(event).toEqual({ kind: 'output', text: 'a' });
      break;
    }
    await waitFor(() => model.requests[0]?.state === 'aborted');
  });
});

describe('a provider that is slow', () => {
  const impatient = { timeouts: { idle_sec: 0.25, total_sec: 10 } };
  /** For answers that come in time: the provider is in this process, which may be slow itself. */
  const patient = { timeouts: { idle_sec: 1, total_sec: 60 } };

  it.each(['headers', 'body', 'end'] as const)(
    'and silent (%s) is given up after the idle time',
    async (stall) => {
      const model = await fakeModel({ stall, text: 'begun' });
      const { failure, events } = await outcomeOf(taskFor(model.url, impatient));
      expect(failure).toMatchObject({ category: 'timeout', message: 'the provider was silent for 0.25 s' });
      // The part already answered costs money, even though the provider never reported how much.
      const usage = { kind: 'usage', output_tokens: 2, usage_missing: true };
      expect(events.slice(1)).toMatchObject(stall === 'end' ? [usage] : []);
      expect(model.count()).toBe(1);
      await waitFor(() => model.requests[0]?.state === 'aborted');
    },
  );

  it('but steady is heard out', async () => {
    const model = await fakeModel({ chunks: 'abcdefgh'.split(''), chunk_delay_ms: 160 });
    expect(await outcomeOf(taskFor(model.url, patient))).toMatchObject({ text: 'abcdefgh', failure: null });
  });

  it('is not one whose reader is slow', async () => {
    const model = await fakeModel({
      chunks: Array.from({ length: 40 }, () => 'x'.repeat(20_000)),
      chunk_delay_ms: 1,
    });
    const started = performance.now();
    let length = 0;
    const task = taskFor(model.url, { ...patient, max_output_tokens: 200_000 });
    for await (const event of execute(task, new AbortController().signal)) {
      if (event.kind === 'output') length += event.text.length;
      if (length === 20_000) await waitFor(() => performance.now() - started > 1500);
    }
    expect(length).toBe(800_000);
  });

  it('is given up after the total time, however steady', async () => {
    const model = await fakeModel({ chunks: Array.from({ length: 1000 }, () => 'x'), chunk_delay_ms: 20 });
    const { failure } = await outcomeOf(taskFor(model.url, { timeouts: { idle_sec: 5, total_sec: 0.3 } }));
    expect(failure).toMatchObject({ category: 'timeout', message: 'no complete answer within 0.3 s' });
  });
});

describe('a broken answer', () => {
  it.each(['end', 'reset'] as const)(
    'that stops midway (%s) is transient, costs, and is not asked for again',
    async (cut) => {
      const model = await fakeModel({ text: 'partial', cut });
      const { failure, text, events } = await outcomeOf(taskFor(model.url));
      expect(failure?.category).toBe('transient');
      expect(text).toBe('partial');
      expect(events.at(-1)).toMatchObject({ kind: 'usage', output_tokens: 2, usage_missing: true });
      expect(model.count()).toBe(1);
    },
  );

  it.each(['family_compat', 'family_chat_a'] as const)(
    'of %s that stops before it began is asked for again',
    async (family) => {
      const model = await fakeModel({ chunks: [], cut: 'end' }, { chunks: [], cut: 'reset' }, 'whole');
      expect(await outcomeOf(taskFor(model.url, {}, { family }))).toMatchObject({
        text: 'whole',
        failure: null,
      });
      expect(model.count()).toBe(3);
    },
  );

  const page = { 'content-type': 'text/html; charset=utf-8' };
  const json = { 'content-type': 'application/json' };
  const events = { 'content-type': 'text/event-stream' };
  it.each([
    ['a web page', page, '<html>Sign in</html>', 'config', 1],
    ['plain JSON', json, '{"choices": []}', 'config', 1],
    ['a JSON error', json, '{"error": {"code": 502, "message": "upstream"}}', 'transient', 3],
    ['events that are no JSON', events, 'data: {"choices": [\n\n', 'permanent', 1],
    ['events of another kind', events, 'data: {"hello": "world"}\n\n', 'permanent', 1],
    ['bytes', events, '\0\u00ff\ufffd', 'transient', 3],
    ['nothing', events, '', 'transient', 3],
    ['an error event', events, 'data: {"error": {"message": "overloaded", "code": 503}}\n\n', 'transient', 3],
    [
      'a quota event',
      events,
      'data: {"error": {"message": "no", "code": 429, "type": "insufficient_quota"}}\n\n',
      'quota',
      1,
    ],
    ['a refusing event', events, 'data: {"error": {"message": "bad input"}}\n\n', 'permanent', 1],
  ])('of %s is an error of its kind', async (_case, headers, body, category, requests) => {
    let count = 0;
    const { url } = await rawServer((_request, response) => {
      count += 1;
      response.writeHead(200, headers).end(body);
    });
    const { failure } = await outcomeOf(taskFor(url));
    expect(failure).toMatchObject({ category });
    expect(count).toBe(requests);
  });

  it('of an error event before any output is known for what it is in family_chat_a too', async () => {
    const { url } = await rawServer((_request, response) => {
      response
        .writeHead(200, events)
        .end('data: {"error": {"message": "no", "type": "insufficient_quota"}}\n\n');
    });
    const { failure } = await outcomeOf(taskFor(url, {}, { family: 'family_chat_a' }));
    expect(failure?.category).toBe('quota');
  });

  it('by a host that does not listen is transient, by one that is unknown or forbidden a matter of configuration', async () => {
    const { url, server } = await rawServer((_request, response) => void response.end());
    await new Promise((resolve) => server.close(resolve));
    expect((await outcomeOf(taskFor(url))).failure?.category).toBe('transient');
    expect((await outcomeOf(taskFor('http://no-such-host.invalid'))).failure?.category).toMatch(
      /config|transient/,
    );
    const metadata = await outcomeOf(taskFor('http://169.254.169.254/v1'));
    expect(metadata.failure?.category).toBe('config');
    const strict = createGuardedFetch({ egress: 'public' });
    expect((await outcomeOf(taskFor(url, {}, { fetch: strict }))).failure?.category).toBe('config');
  });
});

describe('a task that cannot be sent', () => {
  const broken: [string, Partial<AdapterTask>, Partial<ProviderSpec>, string][] = [
    ['no provider', { provider: null }, {}, 'no LLM provider is configured'],
    ['no model', { model: ' ' }, {}, 'no model is configured'],
    ['no base URL', {}, { base_url: null }, 'the provider needs a base URL'],
    ['a base URL that is none', {}, { base_url: 'ftp://x' }, 'the base URL is not an http(s) URL'],
    [
      'a password in the base URL',
      {},
      { base_url: `http://u:${key}@localhost` },
      'the base URL must not hold a password',
    ],
    ['no key', {}, { family: 'family_chat_a', api_key: null }, 'the provider has no API key'],
    [
      'a key over two lines',
      {},
      { api_key: `${key}\n${key}` },
      'the key or a custom header holds characters',
    ],
    [
      'a header that is none',
      {},
      { custom_headers: { 'a b': key } },
      'the key or a custom header holds characters',
    ],
    ['no messages', { messages: [] }, {}, 'there is no message to send'],
  ];
  it.each(broken)('for %s fails without a request', async (_case, over, provider, message) => {
    const model = await fakeModel('ok');
    const task = taskFor(model.url, {}, provider);
    const { failure } = await outcomeOf({ ...task, ...over });
    expect(failure?.category).toMatch(/config|permanent/);
    expect(failure?.message).toContain(message);
    expect(model.count()).toBe(0);
  });
});
