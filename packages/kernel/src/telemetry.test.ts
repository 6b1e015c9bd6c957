/** What a collector receives, by OTLP's JSON, when telemetry stops. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadConfig } from './config.ts';
import { Histogram } from './histograms.ts';
import { openTelemetry } from './telemetry.ts';

interface Point {
  attributes: { key: string; value: object }[];
  [field: string]: unknown;
}
interface Metrics {
  resourceMetrics: {
    scopeMetrics: { metrics: { name: string; unit: string; histogram: { dataPoints: Point[] } }[] }[];
  }[];
}

let collector: Server;
let received: Map<string, unknown[]>;
let telemetry: ReturnType<typeof openTelemetry>;

beforeEach(async () => {
  received = new Map();
  collector = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const path = request.url ?? '';
      received.set(path, [...(received.get(path) ?? []), JSON.parse(body)]);
      response.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  telemetry = openTelemetry(loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }));
});

afterEach(() => {
  collector.closeAllConnections();
  collector.close();
});

const metrics = () => (received.get('/v1/metrics') as Metrics[]).at(-1)!.resourceMetrics[0]!.scopeMetrics;

it('values are counted by their attributes, in the buckets of their measure', async () => {
  const { tracing } = telemetry;
  const read = Object.freeze({ 'http.route': 'issues.get', 'http.response.status_code': 200 });
  for (const seconds of [0.005, 0.006, 7]) tracing.measure('http.server.request.duration', seconds, read);
  tracing.measure('http.server.request.duration', 0.5, { ...read });
  tracing.measure('http.server.request.duration', 0.5, { 'http.route': 'other', gone: undefined });
  tracing.measure('http.server.request.duration', NaN, read);
  await telemetry.stop();
  const [scope] = metrics();
  expect(scope!.metrics.map(({ name, unit }) => [name, unit])).toEqual([
    ['http.server.request.duration', 's'],
  ]);
  const [first, second] = scope!.metrics[0]!.histogram.dataPoints;
  expect(first).toMatchObject({
    explicitBounds: [0.005, 0.02, 0.05, 0.1, 0.3, 1, 3, 10],
    bucketCounts: [1, 1, 0, 0, 0, 1, 0, 1, 0],
    count: 4,
    sum: 7.511,
    min: 0.005,
    max: 7,
    attributes: [
      { key: 'http.route', value: { stringValue: 'issues.get' } },
      { key: 'http.response.status_code', value: { intValue: 200 } },
    ],
  });
  expect(second!.attributes).toEqual([{ key: 'http.route', value: { stringValue: 'other' } }]);
});

it('a span and its trace are told, with the process that they come from', async () => {
  const span = telemetry.tracing.open('job', {});
  const ids = span.within(() => telemetry.tracing.ids());
  expect(span.within(() => telemetry.tracing.traceparent())).toBe(`00-${ids!.trace_id}-${ids!.span_id}-01`);
  span.end();
  await telemetry.stop();
  expect(JSON.stringify(received.get('/v1/traces'))).toContain(`"spanId":"${ids!.span_id}","name":"job"`);
  expect(JSON.stringify(received.get('/v1/traces'))).toContain('{"stringValue":"agent-control-plane"}');
  expect(telemetry.tracing.ids()).toBeUndefined();
  expect(telemetry.tracing.traceparent()).toBeNull();
});

it('the number of series is limited: the rest is counted together', () => {
  const histogram = new Histogram({ unit: 's', buckets: [1] });
  for (let n = 0; n < 2500; n += 1) histogram.record(0.5, { 'gen_ai.request.model': `model ${n}` });
  const points = histogram.collect('x', [0, 0])!.dataPoints;
  expect(points).toHaveLength(2001);
  expect(points.at(-1)).toMatchObject({
    attributes: { 'otel.metric.overflow': true },
    value: { count: 500 },
  });
});
