import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { job, MAX_MESSAGE_BYTES, on, type Plugin, serve, tool, webhook } from './index.ts';

/** Both ends of a plugin's pipes, in this process. */
class Wire {
  readonly #input = new PassThrough();
  readonly #output = new PassThrough();
  readonly #lines: AsyncIterator<{ type: string; payload: never }>;
  readonly exited: Promise<number>;

  constructor(plugin: Plugin) {
    this.#lines = this.#read();
    this.exited = new Promise((exit) => {
      void serve(plugin, { input: this.#input, output: this.#output, workspace: '/nowhere', exit });
    });
  }

  send(type: string, payload: object = {}): void {
    this.raw(`${JSON.stringify({ type, payload })}\n`);
  }

  raw(text: string): void {
    this.#input.write(text);
  }

  async next(): Promise<{ type: string; payload: never }> {
    return (await this.#lines.next()).value as { type: string; payload: never };
  }

  async start(config: object | null = null): Promise<{ type: string; payload: never }> {
    const ids = { plugin_id: 'p', company_id: 'c', host_capabilities: ['http_fetch', 'log'] };
    this.send('init', { ...ids, config, protocol_version: 1 });
    return this.next();
  }

  async *#read(): AsyncGenerator<{ type: string; payload: never }> {
    let text = '';
    for await (const chunk of this.#output as AsyncIterable<Buffer>) {
      text += chunk.toString();
      const lines = text.split('\n');
      text = lines.pop()!;
      for (const line of lines) yield JSON.parse(line) as { type: string; payload: never };
    }
  }
}

const echo = tool({
  namespace: 'test',
  name: 'echo',
  description: 'Says it again.',
  input_schema: {
    type: 'object',
    properties: { text: { type: 'string' }, times: { type: 'integer' } },
    required: ['text'],
  },
  // Checks the types: `text` is a string, `times` is optional.
  run: ({ text, times = 1 }) => text.repeat(times),
});

describe('a plugin made with the SDK', () => {
  it('says what it has, and ends with 0 when the host says so', async () => {
    const wire = new Wire({
      name: 'Test',
      tools: [echo],
      events: [on('issue.*', () => {}), on('issue.*', () => {})],
      jobs: [job({ name: 'j', schedule: '0 * * * *', config: { deep: true }, run: () => 1 })],
      webhooks: [webhook('in', () => {})],
    });
    const { run: _run, ...described } = echo;
    expect(await wire.start()).toEqual({
      type: 'ready',
      payload: {
        protocol_version: 1,
        manifest: {
          name: 'Test',
          tools: [described],
          events: ['issue.*'],
          jobs: [{ name: 'j', schedule: '0 * * * *', config: { deep: true } }],
          webhooks: [{ path: 'in' }],
        },
      },
    });
    wire.send('shutdown');
    expect(await wire.exited).toBe(0);
  });

  it('answers calls by their id, with a result, with what a tool threw, and with an error for what is too long', async () => {
    const wire = new Wire({ name: 'Test', tools: [echo] });
    await wire.start();
    const call = async (request_id: string, input: unknown, name = 'echo') => {
      wire.send('invoke_tool', { tool: name, namespace: 'test', input, request_id });
      return (await wire.next()).payload;
    };
    expect(await call('1', { text: 'ab', times: 2 })).toEqual({
      request_id: '1',
      result: 'abab',
      error: null,
    });
    expect(await call('2', { text: 'ab', times: -1 })).toMatchObject({
      error: { message: expect.stringContaining('Invalid count value') as unknown },
    });
    expect(await call('3', { text: 'x', times: 2_000_000 })).toMatchObject({
      error: { message: expect.stringContaining('1048576 is the most') as unknown },
    });
    expect(await call('4', {}, 'toString')).toMatchObject({
      error: { message: 'there is no tool toString' },
    });
  });

  it('asks the host while a tool runs, and gets refusals as errors with their code', async () => {
    const wire = new Wire({
      name: 'Test',
      tools: [
        tool({
          ...echo,
          input_schema: { type: 'object' },
          run: async (_, { host }) => {
            await host.kv.set('k', 1, 0);
            return (await host.fetch('https://example.com/')).text();
          },
        }),
      ],
    });
    await wire.start();
    wire.send('invoke_tool', { tool: 'echo', namespace: 'test', input: {}, request_id: 'call' });
    const set = await wire.next();
    expect(set).toMatchObject({
      type: 'host_request',
      payload: { service: 'kv', args: { ops: [{ op: 'set', key: 'k', value: 1, if_version: 0 }] } },
    });
    const { request_id } = set.payload as { request_id: string };
    wire.send('tool_result', { request_id, result: { results: [{ value: 1, version: 1 }] }, error: null });
    const asked = (await wire.next()).payload as { request_id: string };
    const error = { code: 'blocked', message: 'a private address' };
    wire.send('tool_result', { request_id: asked.request_id, result: null, error });
    expect((await wire.next()).payload).toEqual({ request_id: 'call', result: null, error });
  });

  it('handles events one at a time, in their order, and goes on after one that failed', async () => {
    const seen: string[] = [];
    let missed = 0;
    const wire = new Wire({
      name: 'Test',
      missed: (count) => {
        missed = count;
      },
      events: [
        on('issue.*', async (event) => {
          seen.push(`begin ${event.type}`);
          await Promise.resolve();
          if (event.type === 'issue.updated') throw new Error('no');
          seen.push(`end ${event.type}`);
        }),
      ],
    });
    await wire.start();
    const events = ['issue.created', 'issue.updated', 'issue.deleted', 'agent.created', 'reset'];
    for (const event_type of events) wire.send('trigger_event', { event_type, data: { missed: 7 } });
    const answers: unknown[] = [];
    for (let n = 0; n < 6; n += 1) answers.push((await wire.next()).payload);
    expect(answers).toEqual([
      { event_type: 'issue.created', result: null },
      { level: 'error', message: 'issue.updated: no' },
      { event_type: 'issue.updated', result: { error: 'no' } },
      { event_type: 'issue.deleted', result: null },
      { event_type: 'agent.created', result: null },
      { event_type: 'reset', result: null },
    ]);
    expect(seen.slice(0, 3)).toEqual(['begin issue.created', 'end issue.created', 'begin issue.updated']);
    expect(missed).toBe(7);
  });

  it.each([
    [
      'too long for a message',
      'x'.repeat(MAX_MESSAGE_BYTES),
      'a message of 1048654 bytes: 1048576 is the most',
    ],
    ['no JSON', 1n, 'Do not know how to serialize a BigInt'],
  ])(
    'answers an event whose handler returns what is %s, so that it does not come again',
    async (_what, result, why) => {
      const wire = new Wire({ name: 'Test', events: [on('issue.*', () => result)] });
      await wire.start();
      wire.send('trigger_event', { event_type: 'issue.created', data: {} });
      expect(await wire.next()).toMatchObject({ type: 'log', payload: { message: `issue.created: ${why}` } });
      expect(await wire.next()).toEqual({
        type: 'event_handled',
        payload: { event_type: 'issue.created', result: { error: why } },
      });
    },
  );

  it('gives webhooks their bytes, jobs their tick, and says when it is not well', async () => {
    let well = true;
    const wire = new Wire({
      name: 'Test',
      health: () => {
        if (!well) throw new Error('no connection');
      },
      jobs: [job({ name: 'j', schedule: '0 * * * *', run: ({ scheduled_at }) => scheduled_at })],
      webhooks: [
        webhook('in', async ({ body, headers }, { host }) => {
          host.log('info', `${headers.from} ${(await body.bytes()).toString('hex')}`);
        }),
      ],
    });
    await wire.start();
    wire.send('deliver_webhook', {
      path: 'in',
      headers: { from: 'ada' },
      body: '/wA=',
      body_encoding: 'base64',
    });
    expect(await wire.next()).toEqual({ type: 'log', payload: { level: 'info', message: 'ada ff00' } });
    wire.send('run_job', { job_name: 'j', scheduled_at: 'now', config: null });
    expect((await wire.next()).payload).toEqual({ job_name: 'j', result: 'now', error: null });
    wire.send('health_check');
    expect((await wire.next()).type).toBe('health_check');
    well = false;
    wire.raw('no message\n{"type":"of_later","payload":{}}\n');
    wire.send('health_check');
    expect((await wire.next()).type).toBe('log');
    expect(await wire.next()).toMatchObject({ type: 'error', payload: { message: 'no connection' } });
  });

  it('ends with 1, and says why, where its own start fails; secrets may be asked for there', async () => {
    const wire = new Wire({
      name: 'Test',
      start: async ({ host }) => {
        await host.secret('TOKEN');
      },
    });
    const { request_id } = (await wire.start()).payload as { request_id: string };
    wire.send('tool_result', {
      request_id,
      result: null,
      error: { code: 'not_granted', message: 'no grant' },
    });
    expect(await wire.next()).toEqual({
      type: 'error',
      payload: { message: 'no grant', code: 'init_failed' },
    });
    expect(await wire.exited).toBe(1);
  });
});
