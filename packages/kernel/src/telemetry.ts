/** Traces and metrics through OpenTelemetry, over OTLP. Loaded only by `startTelemetry`, and only if configured. */
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { collectorAgent } from './collector-agent.ts';
import type { Config } from './config.ts';
import { Histogram, type HistogramRow, producerOf } from './histograms.ts';
import { SpanBatches } from './span-batches.ts';
import { recordSpans, type SpanSource } from './span-recorder.ts';
import type { Measure, Tracing } from './tracing.ts';
import { serviceVersion } from './version.ts';

export type TelemetryConfig = Pick<
  Config,
  | 'role'
  | 'otel_exporter_otlp_endpoint'
  | 'otel_exporter_otlp_headers'
  | 'otel_service_name'
  | 'otel_traces_sampler_arg'
>;

const measures: Record<Measure, HistogramRow> = {
  // Buckets recommended by the semantic conventions for generative AI.
  'gen_ai.client.token.usage': {
    unit: '{token}',
    buckets: [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576],
  },
  'gen_ai.client.operation.duration': { unit: 's', buckets: [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 40, 80, 160] },
  'http.server.request.duration': { unit: 's', buckets: [0.005, 0.02, 0.05, 0.1, 0.3, 1, 3, 10] },
};

const EXPORT_TIMEOUT_MS = 5000;
const METRICS_EVERY_MS = 30_000;
const SCOPE = 'agent-control-plane';

export function openTelemetry(config: TelemetryConfig): { tracing: Tracing; stop(): Promise<void> } {
  const about = {
    'service.name': config.otel_service_name,
    'service.version': serviceVersion().version,
    'service.instance.id': `${process.pid}-${Date.now().toString(36)}`,
    'acp.role': config.role,
  };
  const headers = config.otel_exporter_otlp_headers ?? {};
  const to = (signal: string) => `${config.otel_exporter_otlp_endpoint}/v1/${signal}`;
  const batches = new SpanBatches(
    { url: to('traces'), headers, timeout_ms: EXPORT_TIMEOUT_MS },
    SCOPE,
    about,
  );
  const spans = recordSpans(config.otel_traces_sampler_arg, (span) => batches.add(span));
  const resource = resourceFromAttributes(about);
  const histograms = Object.fromEntries(
    Object.entries(measures).map(([name, row]) => [name, new Histogram(row)]),
  ) as Record<Measure, Histogram>;
  const meters = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter({
          url: to('metrics'),
          headers,
          timeoutMillis: EXPORT_TIMEOUT_MS,
          httpAgentOptions: collectorAgent(EXPORT_TIMEOUT_MS),
        }),
        exportIntervalMillis: METRICS_EVERY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
        metricProducers: [producerOf(histograms, SCOPE, resource)],
      }),
    ],
  });
  return {
    tracing: tracingBy(spans, histograms),
    async stop() {
      await Promise.allSettled([batches.stop(), meters.shutdown()]);
    },
  };
}

const tracingBy = (spans: SpanSource, histograms: Record<Measure, Histogram>): Tracing => ({
  open: (name, options) => spans.open(name, options),
  traceparent() {
    const at = spans.current();
    return at === undefined ? null : `00-${at.trace_id}-${at.span_id}-0${at.sampled ? 1 : 0}`;
  },
  ids() {
    const at = spans.current();
    return at && { trace_id: at.trace_id, span_id: at.span_id };
  },
  measure: (name, value, attributes) => histograms[name].record(value, attributes),
});
