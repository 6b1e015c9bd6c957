import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { newId } from '@acp/kernel';
import { type AdapterEvent, type AdapterTask, execute, smokeTest } from '../index.ts';

interface Invocation {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

// Stands in for the cloud's endpoint; it does not verify signatures, only that there is one.
let server: Server;
let endpoint: string;
let invocations: Invocation[] = [];
let reply: { status: number; headers?: Record<string, string>; body: string; silent?: boolean };
const kept = { ...process.env };

beforeAll(async () => {
  process.env.AWS_ACCESS_KEY_ID = 'id-of-the-key';
  process.env.AWS_SECRET_ACCESS_KEY = 'secret-of-the-key';
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      invocations.push({ path: request.url ?? '', headers: request.headers, body });
      if (!reply.silent) response.writeHead(reply.status, reply.headers).end(reply.body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});

afterAll(async () => {
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) {
    if (kept[name] === undefined) delete process.env[name];
    else process.env[name] = kept[name];
  }
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

beforeEach(() => {
  invocations = [];
  reply = { status: 200, body: JSON.stringify({ summary: 'Done.\n/status done' }) };
});

const payload = { run_id: newId(), wake_reason: 'manual', agent_name: 'Ada' };

function taskOf(changes: Partial<AdapterTask> = {}): AdapterTask {
  return {
    run_id: payload.run_id,
    adapter_type: 'lambda',
    provider: null,
    model: '',
    system_prompt: '',
    messages: [],
    max_output_tokens: 1,
    timeouts: { idle_sec: 10, total_sec: 10 },
    adapter_config: { function_name: 'arn:aws:lambda:eu-central-1:1:function:agent', region: 'eu-central-1' },
    cloud: { region: 'us-east-1', endpoint },
    payload,
    ...changes,
  };
}

async function collect(task: AdapterTask, signal = new AbortController().signal) {
  const events: AdapterEvent[] = [];
  let failure: unknown;
  try {
    for await (const event of execute(task, signal)) events.push(event);
  } catch (err) {
    failure = err;
  }
  return { events, failure };
}

describe('a cloud function', () => {
  it('is invoked with the payload, signed for its region, and answers with a result body', async () => {
    reply.body = JSON.stringify({
      summary: 'Done.',
      model: 'm',
      input_tokens: 9,
      output_tokens: 3,
      cost_usd: 0.25,
    });
    const { events, failure } = await collect(taskOf());
    expect(failure).toBeUndefined();
    expect(events).toEqual([
      { kind: 'output', text: 'Done.' },
      { kind: 'usage', model: 'm', input_tokens: 9, output_tokens: 3, cached_tokens: 0, cost_usd: 0.25 },
    ]);
    const [call] = invocations;
    expect(call?.path).toBe(
      '/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-central-1%3A1%3Afunction%3Aagent/invocations',
    );
    expect(JSON.parse(call?.body ?? '')).toEqual(payload);
    expect(call?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=id-of-the-key\/\d{8}\/eu-central-1\/lambda\/aws4_request/,
    );
    expect(call?.headers['x-amz-invocation-type']).toBe('RequestResponse');
  });

  it('without counts costs what nobody knows: no usage is made up', async () => {
    const { events } = await collect(taskOf());
    expect(events).toEqual([{ kind: 'output', text: 'Done.\n/status done' }]);
  });

  it.each([
    [403, 'auth'],
    [404, 'config'],
    [429, 'transient'],
    [502, 'transient'],
    [413, 'permanent'],
  ])('that answers %i fails as %s, once', async (status, category) => {
    reply = { status, body: '{"Message":"said the cloud"}' };
    const { failure } = await collect(taskOf());
    expect(failure).toMatchObject({ category, message: expect.stringContaining('said the cloud') });
    expect(invocations).toHaveLength(1);
  });

  it('that fails itself says why', async () => {
    const body = JSON.stringify({ errorMessage: 'out of paint', stackTrace: ['line 1'] });
    reply = { status: 200, headers: { 'x-amz-function-error': 'Unhandled' }, body };
    expect((await collect(taskOf())).failure).toMatchObject({
      category: 'permanent',
      message: 'the function failed: out of paint',
    });
  });

  it.each(['"text"', '{}', 'not json', '{"summary":1}'])('that answers %s gives no result', async (body) => {
    reply.body = body;
    expect((await collect(taskOf())).failure).toMatchObject({ category: 'permanent' });
  });

  it('that says nothing is given up when its time is over, or when it is called off', async () => {
    reply.silent = true;
    const late = await collect(taskOf({ timeouts: { idle_sec: 1, total_sec: 0.2 } }));
    expect(late.failure).toMatchObject({ category: 'timeout' });
    const stop = new AbortController();
    const going = collect(taskOf(), stop.signal);
    stop.abort();
    expect((await going).failure).toMatchObject({ category: 'cancelled' });
  });

  it('that is tested is asked for and not run', async () => {
    reply = { status: 204, body: '' };
    expect(await smokeTest(taskOf(), new AbortController().signal)).toMatchObject({ ok: true, error: null });
    expect(invocations[0]?.headers['x-amz-invocation-type']).toBe('DryRun');
    reply = { status: 404, body: '{"Message":"no such function"}' };
    expect(await smokeTest(taskOf(), new AbortController().signal)).toMatchObject({
      ok: false,
      error: expect.stringContaining('no such function'),
    });
  });
});
