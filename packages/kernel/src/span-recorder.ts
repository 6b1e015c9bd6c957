/**
 * Spans of our own, encoded when a batch of them is complete: in a loop this takes a fraction of what it takes between two
 * requests. A library's are objects of twenty fields, and are copied twice on their way: that cost more than all the rest (ADR 37).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFillSync } from 'node:crypto';
import type { OpenSpan, SpanOptions, TraceAttributes, TraceValue } from './tracing.ts';

/** Of OTLP's `SpanKind`. */
const kinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 };
/** Of OTLP's `Status`. */
const FAILED = 2;
/** In OTLP's `flags`, beside "sampled": whether the parent is remote is known, and it is. */
const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

export interface SpanSource {
  open(name: string, options: SpanOptions): OpenSpan;
  /** The span that the caller is part of. */
  current(): SpanIds | undefined;
}

interface SpanIds {
  readonly trace_id: string;
  readonly span_id: string;
  readonly sampled: boolean;
}

export interface EndedSpan {
  /** OTLP's JSON. */
  json(): string;
}

/**
 * @param share of the traces that begin here; those that came from elsewhere, and spans within a span, follow their parent
 * @param ended takes each sampled span
 */
export function recordSpans(share: number, ended: (span: EndedSpan) => void): SpanSource {
  const within = new AsyncLocalStorage<Span>();
  return {
    open(name, { kind, attributes, parent }) {
      const above = (parent && remoteParent(parent)) || within.getStore();
      const trace_id = above?.trace_id ?? newId(TRACE_ID_DIGITS);
      const sampled = above ? above.sampled : isSampled(trace_id, share);
      const span = new Span(trace_id, sampled, above, { within, ended });
      span.rename(name);
      span.kind = kinds[kind ?? 'internal'];
      if (attributes) span.set(attributes);
      return span;
    },
    current: () => within.getStore(),
  };
}

interface Recorder {
  readonly within: AsyncLocalStorage<Span>;
  readonly ended: (span: EndedSpan) => void;
}

class Span implements OpenSpan, SpanIds, EndedSpan {
  readonly trace_id: string;
  readonly span_id = newId(SPAN_ID_DIGITS);
  readonly sampled: boolean;
  kind = kinds.internal;
  readonly #parent: (SpanIds & { remote?: boolean }) | undefined;
  readonly #recorder: Recorder;
  readonly #began = performance.now();
  #name = '';
  #attributes: TraceAttributes | undefined;
  #failed = false;
  /** Zero: not yet. */
  #ended = 0;

  constructor(trace_id: string, sampled: boolean, parent: SpanIds | undefined, recorder: Recorder) {
    this.trace_id = trace_id;
    this.sampled = sampled;
    this.#parent = parent;
    this.#recorder = recorder;
  }

  set(attributes: TraceAttributes): void {
    this.#attributes = this.#attributes ? { ...this.#attributes, ...attributes } : attributes;
  }

  rename(name: string): void {
    this.#name = name;
  }

  fail(type: string): void {
    this.#failed = true;
    this.set({ 'error.type': type });
  }

  within<T>(work: () => T): T {
    return this.#recorder.within.run(this, work);
  }

  end(): void {
    if (this.#ended !== 0 || !this.sampled) return;
    this.#ended = performance.now();
    this.#recorder.ended(this);
  }

  json(): string {
    const parent = this.#parent;
    const flags = 1 | HAS_IS_REMOTE | (parent?.remote ? IS_REMOTE : 0);
    return (
      `{"traceId":"${this.trace_id}","spanId":"${this.span_id}",` +
      (parent ? `"parentSpanId":"${parent.span_id}",` : '') +
      `"name":${JSON.stringify(this.#name)},"kind":${this.kind},"flags":${flags},` +
      `"startTimeUnixNano":"${unixNano(this.#began)}","endTimeUnixNano":"${unixNano(this.#ended)}",` +
      `"attributes":[${this.#attributes ? keyValues(this.#attributes) : ''}],"status":{${this.#failed ? `"code":${FAILED}` : ''}}}`
    );
  }
}

/** Undefined if malformed: clients may send anything. */
function remoteParent(traceparent: string): (SpanIds & { remote: boolean }) | undefined {
  const [, trace_id, span_id, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (trace_id === undefined || span_id === undefined || flags === undefined) return undefined;
  return { trace_id, span_id, sampled: (Number.parseInt(flags, 16) & 1) === 1, remote: true };
}

const encodedFrozen = new WeakMap<TraceAttributes, string>();

function keyValues(attributes: TraceAttributes): string {
  const known = encodedFrozen.get(attributes);
  if (known !== undefined) return known;
  const encoded = encode(attributes);
  if (Object.isFrozen(attributes)) encodedFrozen.set(attributes, encoded);
  return encoded;
}

/** Names are our own, so they need no escaping. */
function encode(attributes: TraceAttributes): string {
  let all = '';
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) all += `${all && ','}{"key":"${name}","value":${anyValue(value)}}`;
  }
  return all;
}

function anyValue(value: TraceValue): string {
  if (typeof value === 'string') return `{"stringValue":${JSON.stringify(value)}}`;
  if (typeof value === 'boolean') return `{"boolValue":${value}}`;
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? `{"intValue":${value}}` : `{"doubleValue":${JSON.stringify(value)}}`;
  return `{"arrayValue":{"values":[${value.map((each) => anyValue(each)).join(',')}]}}`;
}

/** The same for each process that sees the trace: by the id, whose bits are random. */
const isSampled = (trace_id: string, share: number): boolean =>
  share >= 1 || Number.parseInt(trace_id.slice(-8), 16) < share * 2 ** 32;

const TRACE_ID_DIGITS = 32;
const SPAN_ID_DIGITS = 16;
const random = Buffer.allocUnsafeSlow(4096);
let digits = '';
let used = 0;

/** Hexadecimal digits of random bytes, of which a large portion is drawn and written at once. */
function newId(count: number): string {
  if (used + count > digits.length) {
    digits = randomFillSync(random).toString('hex');
    used = 0;
  }
  used += count;
  return digits.slice(used - count, used);
}

/** The wall clock when the steady one was at zero; read anew every second, since the wall clock is adjusted. */
let epoch = 0;
let epochReadAt = -Infinity;
const EPOCH_MS = 1000;
let second = 0;
let secondAsText = '';

/** Of a reading of the steady clock, in microseconds; put together from small numbers, which are quick to write. */
function unixNano(steady: number): string {
  if (steady - epochReadAt > EPOCH_MS) {
    epochReadAt = performance.now();
    epoch = Date.now() - epochReadAt;
  }
  const at = epoch + steady;
  const seconds = Math.floor(at / 1000);
  if (seconds !== second) {
    second = seconds;
    secondAsText = String(seconds);
  }
  const micros = Math.floor((at - seconds * 1000) * 1000);
  return `${secondAsText}${String(1_000_000 + micros).slice(1)}000`;
}
