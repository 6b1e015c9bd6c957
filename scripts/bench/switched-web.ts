/**
 * A web tier whose telemetry is switched on and off while it answers: a single process, compiled once, can measure the cost
 * of tracing, which two processes cannot. Started by `forkModule`; a message is the collector's address, or empty.
 */
import { createLogger, loadConfig, startTelemetry } from '@acp/kernel';
import { startWeb } from '@acp/web';

const settings = JSON.parse(process.argv[2] ?? '{}') as Record<string, string>;
const logger = createLogger({ level: 'error', format: 'json', role: 'web' });
const web = await startWeb({ config: loadConfig(settings), logger });
let telemetry = await startTelemetry(loadConfig({}));

process.on('message', (endpoint: string) => {
  void (async () => {
    await telemetry.stop();
    telemetry = await startTelemetry(
      loadConfig(endpoint === '' ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }),
    );
    process.send?.('switched');
  })();
});
process.on('disconnect', () => void web.stop({ drain_ms: 0 }).then(() => process.exit(0)));
process.send?.(web.url);
