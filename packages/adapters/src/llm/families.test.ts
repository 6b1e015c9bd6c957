import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { startFakeModel } from '@acp/testkit';
import { execute } from '../execute.ts';
import { probeModels } from '../probe-models.ts';
import type { AdapterEvent, AdapterTask, ProviderSpec } from '../task.ts';

const key = 'secret-key-0123456789';
const blob = JSON.stringify({
  region: 'eu-west-1',
  access_key_id: 'AKIDEXAMPLE0000',
  secret_access_key: key,
  session_token: 'session-token-0123',
});
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
});

interface Seen {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A vendor's endpoint that gives every request the same response and records requests. */
async function vendor(type: string, answer: string, status = 200): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  async function keep(request: IncomingMessage): Promise<void> {
    const body = Buffer.concat(await request.toArray()).toString();
    seen.push({ path: request.url ?? '', headers: request.headers, body });
  }
  const server = createServer((request, response) => {
    void keep(request).then(() => response.writeHead(status, { 'content-type': type }).end(answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}`, seen };
}

function sse(events: object[]): string {
  return events
    .map(
      (event) =>
        `event: ${'type' in event ? String(event.type) : 'message'}\ndata: ${JSON.stringify(event)}\n\n`,
    )
    .join('');
}

async function run(provider: ProviderSpec, model: string): Promise<AdapterEvent[]> {
  const task: AdapterTask = {
    run_id: 'run',
    adapter_type: 'llm',
    provider,
    model,
    system_prompt: 'Be brief.',
    messages: [{ role: 'user', content: 'Hello' }],
    max_output_tokens: 100,
    timeouts: { idle_sec: 10, total_sec: 10 },
    adapter_config: {},
  };
  const events: AdapterEvent[] = [];
  for await (const event of execute(task, new AbortController().signal)) events.push(event);
  return events;
}

describe('family_chat_b', () => {
  it('streams a message, its cached tokens counted in the input', async () => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 30,
      cache_creation_input_tokens: 5,
      output_tokens: 1,
    };
    const message = {
      id: 'msg',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      usage,
    };
    const { url, seen } = await vendor(
      'text/event-stream',
      sse([
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'ping' },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
        { type: 'message_stop' },
      ]),
    );
    const events = await run({ family: 'family_chat_b', api_key: key, base_url: `${url}/v1` }, 'model-b');
    expect(events).toEqual([
      { kind: 'output', text: 'Hi' },
      { kind: 'usage', model: 'model-b', input_tokens: 45, output_tokens: 9, cached_tokens: 30 },
    ]);
    expect(seen[0]).toMatchObject({ path: '/v1/messages', headers: { 'x-api-key': key } });
    expect(seen[0]?.headers['authorization']).toBeUndefined();
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ max_tokens: 100, stream: true });
  });

  it('tells an overloaded vendor from one that is out of credit', async () => {
    const broke = await vendor(
      'application/json',
      JSON.stringify({
        type: 'error',
        error: { type: 'invalid_request_error', message: 'Your credit balance is too low' },
      }),
      400,
    );
    const provider = { family: 'family_chat_b' as const, api_key: key, base_url: broke.url };
    await expect(run(provider, 'm')).rejects.toMatchObject({ category: 'quota' });
    const busy = await vendor(
      'text/event-stream',
      sse([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }]),
    );
    await expect(run({ ...provider, base_url: busy.url }, 'm')).rejects.toMatchObject({
      category: 'transient',
      status: 529,
    });
    expect(busy.seen).toHaveLength(3);
  });
});

/** A streamed chunk in the format of chat completions. */
const chunk = (delta: object, finish: string | null, usage?: object) => ({
  id: '1',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: finish }],
  usage,
});

describe('calls of one model at a time', () => {
  it('go out by their own fetch each, with the key, the headers and the address of that moment', async () => {
    const answer = sse([chunk({ content: 'Hi' }, null), chunk({}, 'stop')]);
    const endpoints = await Promise.all([1, 2].map(async () => vendor('text/event-stream', answer)));
    const sent: string[] = [];
    const call = async (name: string, api_key: string, { url }: { url: string }) =>
      run(
        {
          family: 'family_compat',
          api_key,
          base_url: url,
          custom_headers: { 'x-name': name.slice(0, 1) },
          fetch: async (...args) => {
            sent.push(name);
            return fetch(...args);
          },
        },
        'm',
      );
    const [first, second] = endpoints as [(typeof endpoints)[0], (typeof endpoints)[0]];
    // The first two differ only in the sender, the others in one thing each.
    await Promise.all([call('a1', 'k1', first), call('a2', 'k1', first)]);
    await Promise.all([call('a3', 'k2', first), call('b', 'k1', first), call('a4', 'k1', second)]);
    const arrived = ({ seen }: (typeof endpoints)[0]) =>
      seen.map(({ headers }) => `${headers.authorization} ${String(headers['x-name'])}`).toSorted();
    expect(sent.toSorted()).toEqual(['a1', 'a2', 'a3', 'a4', 'b']);
    expect(arrived(first)).toEqual(['Bearer k1 a', 'Bearer k1 a', 'Bearer k1 b', 'Bearer k2 a']);
    expect(arrived(second)).toEqual(['Bearer k1 a']);
  });
});

describe('family_search', () => {
  it('streams, with the cached tokens that only the raw usage has', async () => {
    const usage = {
      prompt_tokens: 20,
      completion_tokens: 4,
      total_tokens: 24,
      prompt_tokens_details: { cached_tokens: 8 },
    };
    const { url, seen } = await vendor(
      'text/event-stream',
      sse([chunk({ content: 'Hi' }, null), chunk({ content: '' }, 'stop', usage)]),
    );
    const events = await run({ family: 'family_search', api_key: key, base_url: url }, 'model-s');
    expect(events[0]).toEqual({ kind: 'output', text: 'Hi' });
    expect(events.at(-1)).toEqual({
      kind: 'usage',
      model: 'model-s',
      input_tokens: 20,
      output_tokens: 4,
      cached_tokens: 8,
    });
    expect(seen[0]).toMatchObject({ path: '/chat/completions', headers: { authorization: `Bearer ${key}` } });
  });

  it('takes an end without a reason for a broken answer', async () => {
    const { url } = await vendor('text/event-stream', sse([chunk({ content: 'Hi' }, null)]));
    const provider = { family: 'family_search' as const, api_key: key, base_url: url };
    await expect(run(provider, 'm')).rejects.toMatchObject({ category: 'transient' });
  });
});

describe('family_cloud', () => {
  const answer = {
    output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 10, outputTokens: 3, totalTokens: 13, cacheReadInputTokens: 5 },
  };

  it('asks for the whole answer with a signed request', async () => {
    const { url, seen } = await vendor('application/json', JSON.stringify(answer));
    const model = 'eu.anthropic.claude-x-v1:0';
    const events = await run({ family: 'family_cloud', api_key: blob, base_url: url }, model);
    expect(events).toEqual([
      { kind: 'output', text: 'Hi' },
      { kind: 'usage', model, input_tokens: 15, output_tokens: 3, cached_tokens: 5 },
    ]);
    expect(decodeURIComponent(seen[0]?.path ?? '')).toBe(`/model/${model}/converse`);
    expect(seen[0]?.headers['authorization']).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE0000\/\d{8}\/eu-west-1\/bedrock\/aws4_request/,
    );
    expect(seen[0]?.headers['x-amz-security-token']).toBe('session-token-0123');
    expect(JSON.stringify(seen)).not.toContain(key);
  });

  it('refuses models of other vendors, and says so', async () => {
    const { url, seen } = await vendor('application/json', JSON.stringify(answer));
    for (const model of ['amazon.nova-pro-v1:0', 'meta.anthropic', 'anthropic.', 'x/anthropic.y']) {
      const call = run({ family: 'family_cloud', api_key: blob, base_url: url }, model);
      await expect(call).rejects.toMatchObject({
        category: 'config',
        message: expect.stringContaining('supported family'),
      });
    }
    expect(seen).toEqual([]);
  });

  it.each([
    ['no JSON', 'AKIDEXAMPLE'],
    ['no region', JSON.stringify({ access_key_id: 'a', secret_access_key: key })],
    ['a region that leads elsewhere', JSON.stringify({ region: 'us-east-1.evil.example/' })],
    ['half a key', JSON.stringify({ region: 'us-east-1', secret_access_key: key })],
    ['a number for a key', JSON.stringify({ region: 'us-east-1', access_key_id: 1, secret_access_key: key })],
    ['null', 'null'],
  ])('refuses credentials that are %s without quoting them', async (_case, broken) => {
    const call = run({ family: 'family_cloud', api_key: broken, base_url: null }, 'anthropic.x');
    const failure: unknown = await call.then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ category: 'config' });
    expect(String(failure)).not.toMatch(/AKID|secret-key|evil/);
  });
});

describe('the models probe', () => {
  const signal = new AbortController().signal;

  it('counts the models of an endpoint', async () => {
    const model = await startFakeModel({ models: ['a', 'b', 'c'], api_key: key });
    cleanups.push(() => model.close());
    for (const family of ['family_compat', 'family_chat_a', 'family_search'] as const) {
      const probe = await probeModels({ family, api_key: key, base_url: model.url }, signal);
      expect(probe).toEqual({
        ok: true,
        model_count: 3,
        models: expect.any(Array),
        latency_ms: expect.any(Number),
        error: null,
      });
      expect(probe.models).toHaveLength(3);
    }
    expect(
      await probeModels({ family: 'family_compat', api_key: 'other-key', base_url: model.url }, signal),
    ).toMatchObject({
      ok: false,
      model_count: null,
      error: 'the provider answered 401: Incorrect API key provided',
    });
  });

  it('asks family_chat_b and family_cloud in their own ways', async () => {
    const b = await vendor('application/json', '{"data": [{"id": "x"}], "has_more": false}');
    expect(
      await probeModels({ family: 'family_chat_b', api_key: key, base_url: b.url }, signal),
    ).toMatchObject({ model_count: 1 });
    expect(b.seen[0]).toMatchObject({ path: '/models?limit=1000', headers: { 'x-api-key': key } });
    const cloud = await vendor('application/json', '{"modelSummaries": [{}, {}]}');
    expect(
      await probeModels({ family: 'family_cloud', api_key: blob, base_url: cloud.url }, signal),
    ).toMatchObject({ model_count: 2 });
    expect(cloud.seen[0]?.path).toBe('/foundation-models?byProvider=anthropic');
    expect(cloud.seen[0]?.headers['authorization']).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE0000/);
  });

  it.each([
    ['a page', 200, 'text/html', '<html>', 'no chat completion|not valid JSON|Unexpected token'],
    ['another shape', 200, 'application/json', '{"hello": []}', 'without a list of models'],
    [
      'an error',
      500,
      'application/json',
      `{"error": "no ${key}"}`,
      'the provider answered 500: no \\[redacted\\]',
    ],
  ])('reports %s as a failure, without the key', async (_case, status, type, body, message) => {
    const { url } = await vendor(type, body, status);
    const probe = await probeModels({ family: 'family_compat', api_key: key, base_url: url }, signal);
    expect(probe).toMatchObject({ ok: false, model_count: null, error: expect.stringMatching(message) });
    expect(probe.error).not.toContain(key);
  });

  it('never throws, neither for a broken provider nor for a cancel', async () => {
    expect(
      await probeModels({ family: 'family_chat_a', api_key: null, base_url: null }, signal),
    ).toMatchObject({
      error: 'the provider has no API key',
    });
    const cancelled = await probeModels(
      { family: 'family_compat', api_key: null, base_url: 'http://127.0.0.1:9' },
      AbortSignal.abort(),
    );
    expect(cancelled).toMatchObject({ ok: false, error: 'cancelled' });
  });
});
