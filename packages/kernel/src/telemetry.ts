/** Traces and metrics through OpenTelemetry, over OTLP. Loaded only by `startTelemetry`, and only if configured. */
import {
  type Attributes,
  type Context,
  context,
  type Meter,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Config } from './config.ts';
import type { Measure, SpanOptions, TraceAttributes, Tracing } from './tracing.ts';
import { serviceVersion } from './version.ts';

export type TelemetryConfig = Pick<
  Config,
  | 'role'
  | 'otel_exporter_otlp_endpoint'
  | 'otel_exporter_otlp_headers'
  | 'otel_service_name'
  | 'otel_traces_sampler_arg'
>;

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

const units: Record<Measure, string> = {
  'gen_ai.client.token.usage': '{token}',
  'gen_ai.client.operation.duration': 's',
  'http.server.request.duration': 's',
};
const buckets: Record<Measure, number[]> = {
  // Buckets recommended by the semantic conventions for generative AI.
  'gen_ai.client.token.usage': [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576],
  'gen_ai.client.operation.duration': [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 40, 80, 160],
  'http.server.request.duration': [0.005, 0.02, 0.05, 0.1, 0.3, 1, 3, 10],
};

/** Maximum number of items buffered for a slow or unreachable collector. */
const MAX_QUEUE = 4096;
const EXPORT_TIMEOUT_MS = 5000;
const METRICS_EVERY_MS = 30_000;
const SPANS_EVERY_MS = 2000;

export function openTelemetry(config: TelemetryConfig): { tracing: Tracing; stop(): Promise<void> } {
  const resource = resourceFromAttributes({
    'service.name': config.otel_service_name,
    'service.version': serviceVersion().version,
    'service.instance.id': `${process.pid}-${Date.now().toString(36)}`,
    'acp.role': config.role,
  });
  const to = (signal: string) => ({
    url: `${config.otel_exporter_otlp_endpoint}/v1/${signal}`,
    headers: config.otel_exporter_otlp_headers ?? {},
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const spans = new TracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(config.otel_traces_sampler_arg) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter(to('traces')),
        maxQueueSize: MAX_QUEUE,
        scheduledDelayMillis: SPANS_EVERY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  const meters = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter(to('metrics')),
        exportIntervalMillis: METRICS_EVERY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  const manager = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(manager);
  return {
    tracing: tracingBy(spans.getTracer('agent-control-plane'), meters.getMeter('agent-control-plane')),
    async stop() {
      await Promise.allSettled([spans.shutdown(), meters.shutdown()]);
      context.disable();
    },
  };
}

function tracingBy(tracer: Tracer, meter: Meter): Tracing {
  const histogram = (name: Measure) =>
    meter.createHistogram(name, {
      unit: units[name],
      advice: { explicitBucketBoundaries: buckets[name] },
    });
  const measures = {
    'gen_ai.client.token.usage': histogram('gen_ai.client.token.usage'),
    'gen_ai.client.operation.duration': histogram('gen_ai.client.operation.duration'),
    'http.server.request.duration': histogram('http.server.request.duration'),
  };
  return {
    open(name, { kind, attributes = {}, parent }: SpanOptions) {
      const above = parent ? withParent(parent) : context.active();
      const spanKind = kind === undefined ? SpanKind.INTERNAL : kinds[kind];
      const span = tracer.startSpan(name, { kind: spanKind, attributes: known(attributes) }, above);
      const own = trace.setSpan(above, span);
      return {
        set: (more) => void span.setAttributes(known(more)),
        rename: (other) => void span.updateName(other),
        fail: (type) => {
          span.setAttribute('error.type', type);
          span.setStatus({ code: SpanStatusCode.ERROR });
        },
        within: (work) => context.with(own, work),
        end: () => span.end(),
      };
    },
    traceparent() {
      const at = trace.getSpanContext(context.active());
      return at === undefined ? null : `00-${at.traceId}-${at.spanId}-0${at.traceFlags & 1}`;
    },
    ids() {
      const at = trace.getSpanContext(context.active());
      return at && { trace_id: at.traceId, span_id: at.spanId };
    },
    measure: (name, value, attributes) => measures[name].record(value, known(attributes)),
  };
}

/** Drops undefined values; nearly always returns the same object, since a copy would be noticeable in every request. */
function known(attributes: TraceAttributes): Attributes {
  let complete = true;
  for (const name in attributes) if (attributes[name] === undefined) complete = false;
  if (complete) return attributes;
  const entries = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A malformed parent is ignored: clients may send anything. */
function withParent(traceparent: string): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return context.active();
  return trace.setSpanContext(context.active(), {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
  });
}
