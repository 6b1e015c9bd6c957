/** Traces and metrics for an OpenTelemetry collector, under the variable names that its own libraries use. */
import { Type } from 'typebox';

export const telemetryVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    Type.String({
      format: 'http-url',
      default_note: 'unset: nothing is traced, and nothing of it loaded',
      description: 'Collector to which traces and metrics are sent, by OTLP over HTTP; without /v1/traces.',
    }),
  ),
  OTEL_EXPORTER_OTLP_HEADERS: Type.Optional(
    Type.Unsafe<Record<string, string>>({
      secret: true,
      format: 'header-list',
      description: 'Headers for the collector, such as its key.',
    }),
  ),
  OTEL_SERVICE_NAME: Type.String({
    default: 'agent-control-plane',
    description: 'What the collector is told the service is called.',
  }),
  OTEL_TRACES_SAMPLER_ARG: Type.Number({
    minimum: 0,
    maximum: 1,
    default: 1,
    description:
      'Share of the traces that begin here which are recorded; those that came from elsewhere go by their own mark.',
  }),
};
