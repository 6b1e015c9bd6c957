/**
 * Where the service says what it is doing, for traces. Nothing of a tracing library is loaded, and nothing noted, until
 * `startTelemetry` has installed one: without it each of these is one comparison.
 */
export type TraceValue = string | number | boolean | readonly string[];
export type TraceAttributes = Readonly<Record<string, TraceValue | undefined>>;

export interface SpanOptions {
  kind?: 'server' | 'client' | 'producer' | 'consumer';
  attributes?: TraceAttributes;
  /** A `traceparent` that came from elsewhere (W3C Trace Context); else what is under way here. */
  parent?: string | null;
}

/** What is under way. Never given a text that a tenant or a model wrote. */
export interface TraceSpan {
  set(attributes: TraceAttributes): void;
  rename(name: string): void;
  /** @param type a category, never a message */
  fail(type: string): void;
}

/** For what ends by a callback. */
export interface OpenSpan extends TraceSpan {
  /** What `work` causes belongs to the span. */
  within<T>(work: () => T): T;
  end(): void;
}

export type Measure =
  'gen_ai.client.token.usage' | 'gen_ai.client.operation.duration' | 'http.server.request.duration';

export interface Tracing {
  open(name: string, options: SpanOptions): OpenSpan;
  /** Of what is under way; null where nothing is, or nothing of it is sampled. */
  traceparent(): string | null;
  ids(): { trace_id: string; span_id: string } | undefined;
  measure(name: Measure, value: number, attributes: TraceAttributes): void;
}

let tracing: Tracing | null = null;

/** @param installed null takes it away again */
export function installTracing(installed: Tracing | null): void {
  tracing = installed;
}

const silent: OpenSpan = {
  set: () => undefined,
  rename: () => undefined,
  fail: () => undefined,
  within: (work) => work(),
  end: () => undefined,
};

/** The work as a span; what it throws is its failure. */
export async function traced<T>(
  name: string,
  options: SpanOptions,
  work: (span: TraceSpan) => Promise<T>,
): Promise<T> {
  if (tracing === null) return work(silent);
  const span = tracing.open(name, options);
  try {
    return await span.within(async () => work(span));
  } catch (error) {
    span.fail(error instanceof Error ? error.name : 'unknown');
    throw error;
  } finally {
    span.end();
  }
}

/** A span that its opener ends. */
export const openSpan = (name: string, options: SpanOptions): OpenSpan =>
  tracing?.open(name, options) ?? silent;

export const isTracing = (): boolean => tracing !== null;

export const currentTraceparent = (): string | null => tracing?.traceparent() ?? null;

/** For log lines. */
export const currentTrace = () => tracing?.ids();

export function measure(name: Measure, value: number, attributes: TraceAttributes): void {
  tracing?.measure(name, value, attributes);
}
