/** Telemetry: what requests cost while a collector listens, and what its hooks cost where none does. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { traced } from '@acp/kernel';
import { cloneDatabase } from '@acp/testkit';
import { CONNECTIONS, load as fire, type LoadRequest } from './load.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene } from './scene.ts';
import { startService, temporaryFolder } from './service.ts';
import { median } from './statistics.ts';

/** Of a request at most: itself, its transaction, the job that it makes. */
const HOOKS = 3;
const CALLS = 1_000_000;

export async function benchTelemetry(report: Report, { smoke }: BenchOptions): Promise<void> {
  report.section('(l) telemetry');
  const database = await cloneDatabase('bench_telemetry');
  const scene = await createScene(database, { agents: 2, issues: 50 });
  const collector = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'));
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const home = temporaryFolder();
  const start = async (more: Record<string, string>) =>
    startService({ SERVICE_ROLE: 'web', DATABASE_URL: database.url, SERVICE_HOME: home, ...more });
  const [off, on] = [await start({}), await start({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })];
  const acts: Record<string, LoadRequest> = {
    'get an issue': { method: 'GET', path: `/api/issues/${scene.issue_ids[0]}` },
    'create an issue': {
      method: 'POST',
      path: `/api/companies/${scene.company_id}/issues`,
      body: JSON.stringify({ title: 'Paint the shed behind the house' }),
    },
  };
  try {
    const [rounds, seconds] = smoke ? [1, 1] : [7, 3];
    for (const [name, request] of Object.entries(acts)) {
      const load = async (url: string) => fire(url, scene.agent_key, [request], seconds);
      for (const { url } of [off, on]) await load(url);
      const ratios: number[] = [];
      const without: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const [silent, told] = [await load(off.url), await load(on.url)];
        without.push(silent);
        ratios.push((100 * told) / silent);
      }
      report.add({
        name: `${name}, traced: of untraced`,
        value: median(ratios),
        unit: '%',
        aim: { at_least: 90 },
        conditions: `every trace recorded; median of ${rounds} alternating rounds of ${seconds} s, ${CONNECTIONS} connections, the collector on the same machine`,
      });
      report.add({
        name: `${name}: hooks while nobody traces`,
        value: 100 * HOOKS * (await hookSeconds()) * median(without),
        unit: '%',
        aim: { at_most: 3 },
        conditions: `${HOOKS} hooks, each the mean of ${CALLS} calls, of the time between two answers`,
      });
    }
  } finally {
    await Promise.all([off.stop(), on.stop()]);
    collector.closeAllConnections();
    collector.close();
    await database.close();
  }
}

/** Beyond what the awaited work itself takes. */
async function hookSeconds(): Promise<number> {
  const work = async () => 1;
  const time = async (call: () => Promise<number>) => {
    const began = performance.now();
    for (let n = 0; n < CALLS; n += 1) await call();
    return (performance.now() - began) / 1000;
  };
  await time(work);
  const bare = await time(work);
  return Math.max(0, (await time(async () => traced('bench', {}, work))) - bare) / CALLS;
}
