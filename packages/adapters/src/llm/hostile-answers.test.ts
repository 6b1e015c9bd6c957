/** Endpoints that send what no model does: they are cut off early, and others get their turn meanwhile. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execute } from '../execute.ts';
import type { AdapterEvent, AdapterTask } from '../task.ts';
import { boundedBody } from './bounded-body.ts';

let server: Server;
let url: string;
let asked = 0;
/** Sent over and over, until the connection is closed. */
let unit: string;

beforeAll(async () => {
  server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const sent = unit;
    const go = (): void => {
      let room = !response.destroyed;
      while (room) room = response.write(sent);
      if (!response.destroyed) response.once('drain', go);
    };
    go();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const event = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`;
const delta = (choice: object): string => event({ choices: [{ index: 0, delta: choice }] });

async function asking(sent: string): Promise<{ events: AdapterEvent[]; failure: unknown }> {
  unit = sent;
  asked = 0;
  const task: AdapterTask = {
    run_id: 'run',
    adapter_type: 'llm',
    provider: { family: 'family_compat', api_key: 'sk-secret-0123456789', base_url: url, fetch },
    model: 'test-model',
    system_prompt: '',
    messages: [{ role: 'user', content: 'Hello' }],
    max_output_tokens: 1000,
    timeouts: { idle_sec: 30, total_sec: 30 },
    adapter_config: {},
  };
  const events: AdapterEvent[] = [];
  try {
    for await (const each of execute(task, new AbortController().signal)) events.push(each);
    return { events, failure: null };
  } catch (failure) {
    return { events, failure };
  }
}

const cutOff = { kind: 'log', message: expect.stringContaining('does not keep to max_output_tokens') };

it('one call of a tool after another is cut off as output, and costs', async () => {
  const call = { index: 0, id: 'a', type: 'function', function: { name: '__proto__', arguments: '{}' } };
  const { events, failure } = await asking(delta({ tool_calls: [call] }));
  expect(failure).toBeNull();
  expect(events).toEqual([cutOff, expect.objectContaining({ kind: 'usage', usage_missing: true })]);
  expect(asked).toBe(1);
});

it('a call of a tool whose arguments have no end is cut off as output', async () => {
  const part = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: 'x'.repeat(500) } };
  const { events } = await asking(delta({ tool_calls: [part] }));
  expect(events).toEqual([cutOff, expect.objectContaining({ kind: 'usage', output_tokens: 1000 })]);
});

it('an event without an end is not waited for, nor asked for again', async () => {
  const { events, failure } = await asking(`data: ${'x'.repeat(60_000)}\n`);
  expect(events).toEqual([]);
  expect(failure).toMatchObject({
    category: 'permanent',
    message: expect.stringContaining('longer than any'),
  });
  expect(asked).toBe(1);
});

/** Reads a body of the same chunk over and over. @returns the bytes until it is too long */
async function read(chunk: string, stream: boolean): Promise<{ bytes: number; turns: number }> {
  const body = boundedBody(async () => Buffer.from(chunk), stream);
  let [bytes, turns] = [0, 0];
  let waiting = setImmediate(function count() {
    turns += 1;
    waiting = setImmediate(count);
  });
  try {
    for (;;) bytes += (await body())?.length ?? 0;
  } catch {
    return { bytes, turns };
  } finally {
    clearImmediate(waiting);
  }
}

it.each([
  ['events without content', ':\n\n'.repeat(20_000), true, 750_000],
  ['events with ends of lines of another kind', ':\r\n\r\n'.repeat(20_000), true, 1_250_000],
  ['an answer in one piece', 'x'.repeat(60_000), false, 16 * 1024 * 1024],
])('of %s no more is read than a model sends', async (_what, chunk, stream, most) => {
  const { bytes } = await read(chunk, stream);
  expect(bytes).toBeGreaterThan(most - 100_000);
  expect(bytes).toBeLessThanOrEqual(most);
});

it('while an answer is read, others get their turn', async () => {
  const { bytes, turns } = await read(':\n\n'.repeat(50_000), true);
  expect(turns).toBeGreaterThan(bytes / 20_000);
});
