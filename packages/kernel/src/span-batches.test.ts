/** Spans on their way to a collector that answers, is away, or is slow. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SpanBatches } from './span-batches.ts';

interface Received {
  resourceSpans: { resource: unknown; scopeSpans: { scope: unknown; spans: unknown[] }[] }[];
}

let collector: Server;
let received: Received[];
let respond: (response: ServerResponse) => void;
let batches: SpanBatches;

beforeEach(async () => {
  received = [];
  respond = (response) => void response.end('{}');
  collector = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received.push(JSON.parse(body) as Received);
      respond(response);
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`;
  batches = new SpanBatches({ url, headers: {}, timeout_ms: 500 }, 'scope', { 'service.name': 'ä "name"' });
});

afterEach(() => {
  collector.closeAllConnections();
  collector.close();
});

const sizes = () => received.map(({ resourceSpans }) => resourceSpans[0]!.scopeSpans[0]!.spans.length);
const add = (count: number, span = '{"name":"ü"}') => {
  for (let n = 0; n < count; n += 1) batches.add({ json: () => span });
};

it('they arrive in batches, with the process they come from, and the last at the stop', async () => {
  add(1100);
  await batches.stop();
  expect(sizes()).toEqual([512, 512, 76]);
  expect(received[0]!.resourceSpans[0]).toMatchObject({
    resource: { attributes: [{ key: 'service.name', value: { stringValue: 'ä "name"' } }] },
    scopeSpans: [{ scope: { name: 'scope' }, spans: expect.arrayContaining([{ name: 'ü' }]) }],
  });
});

it('a batch is also full when its buffer is; a span that fits into none is left out', async () => {
  add(8, JSON.stringify({ name: 'ü'.repeat(20_000) }));
  add(1, JSON.stringify({ name: 'x'.repeat(100_000) }));
  add(1);
  await batches.stop();
  expect(sizes()).toEqual([6, 3]);
});

it('a bounded number waits; what ends meanwhile is left out', async () => {
  add(20_000);
  await batches.stop();
  expect(sizes()).toEqual(Array.from({ length: 8 }, () => 512));
});

it('a collector that never answers is given up, and the next batch is sent', async () => {
  respond = (response) => void (received.length > 1 && response.end('{}'));
  add(600);
  await batches.stop();
  expect(sizes()).toEqual([512, 88]);
});

it('a collector that answers byte by byte, for ever, is given up, and the next batch is sent', async () => {
  respond = (response) => {
    if (received.length > 1) return void response.end('{}');
    const dripping = setInterval(() => response.write(' '), 50);
    response.once('close', () => clearInterval(dripping));
  };
  add(600);
  await batches.stop();
  // The first is sent again: the connection broke.
  expect(sizes().slice(-1)).toEqual([88]);
});

it('a refused batch is not sent again, and the next arrives', async () => {
  respond = (response) => {
    response.statusCode = received.length === 1 ? 400 : 200;
    response.end('{}');
  };
  add(600);
  await batches.stop();
  expect(sizes()).toEqual([512, 88]);
});

it('nothing to send: nothing is sent', async () => {
  await batches.stop();
  expect(received).toEqual([]);
});
