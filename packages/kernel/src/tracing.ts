/**
 * The tracing interface used throughout the service. No tracing library is loaded and nothing is recorded until
 * `startTelemetry` installs one; until then each call costs one comparison.
 */
export type TraceValue = string | number | boolean | readonly string[];
/** Those that recur are best frozen and used again: what is sent of them is then prepared once. */
export type TraceAttributes = Readonly<Record<string, TraceValue | undefined>>;

export interface SpanOptions {
  kind?: 'server' | 'client' | 'producer' | 'consumer';
  attributes?: TraceAttributes;
  /** An incoming `traceparent` (W3C Trace Context); by default the current span is the parent. */
  parent?: string | null;
}

/** A span in progress. Never pass it text written by a tenant or a model. */
interface TraceSpan {
  set(attributes: TraceAttributes): void;
  rename(name: string): void;
  /** @param type a category, never a message */
  fail(type: string): void;
}

/** For work that ends in a callback. */
export interface OpenSpan extends TraceSpan {
  /** Whatever `work` triggers becomes part of the span. */
  within<T>(work: () => T): T;
  end(): void;
}

export type Measure =
  | 'gen_ai.client.token.usage'
  | 'gen_ai.client.operation.duration'
  | 'http.server.request.duration';

export interface Tracing {
  open(name: string, options: SpanOptions): OpenSpan;
  /** Of the current span; null if there is none or it is not sampled. */
  traceparent(): string | null;
  ids(): { trace_id: string; span_id: string } | undefined;
  measure(name: Measure, value: number, attributes: TraceAttributes): void;
}

let tracing: Tracing | null = null;

/** @param installed null uninstalls it */
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

/** Runs the work as a span; an error it throws marks the span as failed. */
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

/** A span that the caller ends. */
export const openSpan = (name: string, options: SpanOptions): OpenSpan =>
  tracing?.open(name, options) ?? silent;

export const isTracing = (): boolean => tracing !== null;

export const currentTraceparent = (): string | null => tracing?.traceparent() ?? null;

/** Trace and span ids for log lines. */
export const currentTrace = () => tracing?.ids();

export function measure(name: Measure, value: number, attributes: TraceAttributes): void {
  tracing?.measure(name, value, attributes);
}
