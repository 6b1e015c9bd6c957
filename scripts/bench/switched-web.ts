/**
 * A web tier whose telemetry is switched on and off many times while it answers: a single process, compiled once, can measure
 * the cost of tracing, which two processes cannot. Started by `forkModule`; a message starts the turns, whose ratios it sends.
 */
import { channel } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';
import { createLogger, loadConfig, startTelemetry } from '@acp/kernel';
import { startWeb } from '@acp/web';

interface Turns {
  settings: Record<string, string>;
  /** The collector's address. */
  endpoint: string;
  rounds: number;
  slice_ms: number;
}

/** Not measured: what was begun before the switch. */
const SETTLE_MS = 50;

const { settings, endpoint, rounds, slice_ms } = JSON.parse(process.argv[2] ?? '{}') as Turns;
const logger = createLogger({ level: 'error', format: 'json', role: 'web' });
const web = await startWeb({ config: loadConfig(settings), logger });
let answers = 0;
channel('http.server.response.finish').subscribe(() => (answers += 1));

/** CPU time per response, with that collector or without one. */
async function cost(collector: Record<string, string>): Promise<number> {
  const telemetry = await startTelemetry(loadConfig(collector));
  await delay(SETTLE_MS);
  const [began, before] = [answers, process.cpuUsage()];
  await delay(slice_ms);
  // Sending what was recorded is part of the cost.
  await telemetry.stop();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (answers - began);
}

process.on('message', () => {
  void (async () => {
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // Whatever grows or warms up over time favours each in turn.
      const tracedFirst = round % 2 === 0;
      const first = await cost(tracedFirst ? { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } : {});
      const second = await cost(tracedFirst ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
      ratios.push(tracedFirst ? first / second : second / first);
    }
    process.send?.(JSON.stringify(ratios));
  })();
});
process.on('disconnect', () => void web.stop({ drain_ms: 0 }).then(() => process.exit(0)));
process.send?.(web.url);
