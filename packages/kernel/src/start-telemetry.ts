import type { TelemetryConfig } from './telemetry.ts';
import { installTracing } from './tracing.ts';

/** Maximum time that an unresponsive collector may delay shutdown. */
const STOP_MS = 3000;

/** Starts exporting telemetry if a collector is configured; otherwise no library is even loaded. */
export async function startTelemetry(config: TelemetryConfig): Promise<{ stop(): Promise<void> }> {
  if (config.otel_exporter_otlp_endpoint === null) return { stop: async () => undefined };
  const { openTelemetry } = await import('./telemetry.ts');
  const telemetry = openTelemetry(config);
  installTracing(telemetry.tracing);
  return {
    async stop() {
      installTracing(null);
      const tooLong = new Promise<void>((resolve) => void setTimeout(resolve, STOP_MS).unref());
      await Promise.race([telemetry.stop(), tooLong]);
    },
  };
}
