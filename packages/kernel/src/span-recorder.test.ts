/** What a collector is told of spans, and which of them it is told. */
import { expect, it } from '@jest/globals';
import { recordSpans } from './span-recorder.ts';

interface Told {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  [field: string]: unknown;
}

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

function recorder(share = 1) {
  const told: Told[] = [];
  return { told, spans: recordSpans(share, (span) => void told.push(JSON.parse(span.json()) as Told)) };
}

it('a span has its name, kind, times, attributes of every type and the category of its failure', () => {
  const { told, spans } = recorder();
  const before = Date.now();
  const attributes = {
    text: 'ä "quoted"\n',
    whole: 7,
    part: 0.5,
    yes: true,
    list: ['a', 'b'],
    none: undefined,
  };
  const span = spans.open('GET', { kind: 'server', attributes });
  span.rename('GET issues.get');
  span.set({ whole: 8 });
  span.fail('timeout');
  span.end();
  span.end();
  expect(told).toMatchObject([
    {
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      name: 'GET issues.get',
      kind: 2,
      flags: 0x101,
      status: { code: 2 },
    },
  ]);
  expect(told[0]!.attributes).toEqual([
    { key: 'text', value: { stringValue: 'ä "quoted"\n' } },
    { key: 'whole', value: { intValue: 8 } },
    { key: 'part', value: { doubleValue: 0.5 } },
    { key: 'yes', value: { boolValue: true } },
    { key: 'list', value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } } },
    { key: 'error.type', value: { stringValue: 'timeout' } },
  ]);
  const [start, end] = [told[0]!.startTimeUnixNano, told[0]!.endTimeUnixNano].map(
    (nano) => Number(nano) / 1e6,
  );
  expect(start).toBeGreaterThan(before - 2);
  expect(end).toBeGreaterThanOrEqual(start!);
  expect(end).toBeLessThan(Date.now() + 2);
});

it('what begins within a span, also later, is its child; a root has no parent', async () => {
  const { told, spans } = recorder();
  const root = spans.open('request', {});
  await root.within(async () => {
    await Promise.resolve();
    spans.open('transaction', {}).end();
  });
  root.end();
  const [child, parent] = told;
  expect(child).toMatchObject({
    name: 'transaction',
    traceId: parent!.traceId,
    parentSpanId: parent!.spanId,
  });
  expect(parent).not.toHaveProperty('parentSpanId');
  expect(spans.current()).toBeUndefined();
});

it('a caller’s span is the parent, unless what it sends is malformed', () => {
  const { told, spans } = recorder();
  spans.open('known', { parent: `00-${TRACE}-${CALLER}-01` }).end();
  for (const parent of ['', '00-xyz', `00-${TRACE.toUpperCase()}-${CALLER}-01`, `00-${TRACE}-${CALLER}-01-x`])
    spans.open('unknown', { parent }).end();
  expect(told[0]).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, flags: 0x301 });
  expect(told.slice(1).filter(({ traceId, parentSpanId }) => traceId === TRACE || parentSpanId)).toEqual([]);
});

it('of the traces that begin here a share is recorded, each as a whole; those of callers by their own mark', () => {
  const { told, spans } = recorder(0.25);
  const roots = 4000;
  for (let n = 0; n < roots; n += 1) {
    const root = spans.open('root', {});
    root.within(() => spans.open('child', {}).end());
    root.end();
  }
  const shares = new Map<string, number>();
  for (const { traceId } of told) shares.set(traceId, (shares.get(traceId) ?? 0) + 1);
  expect([...shares.values()].every((count) => count === 2)).toBe(true);
  // Six standard deviations.
  expect(Math.abs(shares.size / roots - 0.25)).toBeLessThan(0.042);

  told.length = 0;
  const left = spans.open('left out', { parent: `00-${TRACE}-${CALLER}-00` });
  left.within(() => expect(spans.current()).toMatchObject({ trace_id: TRACE, sampled: false }));
  left.end();
  spans.open('taken', { parent: `00-${TRACE}-${CALLER}-01` }).end();
  expect(told.map(({ name }) => name)).toEqual(['taken']);
});

it('a share of nothing records nothing', () => {
  const { told, spans } = recorder(0);
  for (let n = 0; n < 100; n += 1) spans.open('root', {}).end();
  expect(told).toEqual([]);
});
