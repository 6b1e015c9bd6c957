/**
 * Telemetry: the cost of exporting a request to a collector, and of its hooks when none is configured; both in CPU time and
 * as a share of the whole response. Two processes cannot measure it: each start of the same program is compiled slightly
 * differently, and varies by more than that. So one process is measured with tracing on and off, in turns.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadConfig, measure, openSpan, startTelemetry, traced } from '@acp/kernel';
import { cloneDatabase } from '@acp/testkit';
import { forkModule } from './forked.ts';
import { CONNECTIONS, loadFor, type LoadRequest } from './load.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene } from './scene.ts';
import { environment, processorMs, startService, temporaryFolder } from './service.ts';
import { median } from './statistics.ts';

/** Maximum per request: the request itself, its transaction, the job it creates. */
const HOOKS = 3;
const CALLS = 1_000_000;
/** Number of requests reported; after each batch the exporter gets its turn, as between the responses of a busy process. */
const TOLD = 40_000;
const AT_ONCE = 50;
/** Pairs of short slices: what else the machine does averages out. */
const TURNS = 60;
const SLICE_MS = 400;
const WARM_UP_SEC = 5;
const LOAD_SEC = 5;

export async function benchTelemetry(report: Report, { smoke }: BenchOptions): Promise<void> {
  report.section('(l) telemetry');
  const database = await cloneDatabase('bench_telemetry');
  const scene = await createScene(database, { agents: 2, issues: 50 });
  let [counting, received] = [true, 0];
  const collector = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += counting ? chunk : ''));
    request.on('end', () => {
      received += body.split('"spanId"').length - 1;
      response.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const home = temporaryFolder();
  const service = await startService({ SERVICE_ROLE: 'web', DATABASE_URL: database.url, SERVICE_HOME: home });
  const acts: Record<string, { request: LoadRequest; spans: number }> = {
    'get an issue': { request: { method: 'GET', path: `/api/issues/${scene.issue_ids[0]}` }, spans: 1 },
    // The request itself, and its transaction.
    'create an issue': {
      request: {
        method: 'POST',
        path: `/api/companies/${scene.company_id}/issues`,
        body: JSON.stringify({ title: 'Paint the shed behind the house' }),
      },
      spans: 2,
    },
  };
  try {
    const [rounds, seconds] = smoke ? [1, 1] : [7, 3];
    for (const [name, { request, spans }] of Object.entries(acts)) {
      /** CPU milliseconds of the process per response. */
      const cost = async (): Promise<number> => {
        const before = await processorMs(service.pid);
        const { count } = await loadFor(service.url, scene.agent_key, [request], seconds);
        return ((await processorMs(service.pid)) - before) / count;
      };
      await cost();
      // Checks once that nothing is dropped, which would be cheaper.
      [counting, received] = [true, 0];
      await toldMs(endpoint, spans);
      if (received < TOLD * spans) throw new Error(`${received} of ${TOLD * spans} spans arrived`);
      counting = false;
      const [answers, told]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        answers.push(await cost());
        told.push(await toldMs(endpoint, spans));
      }
      report.add({
        name: `${name}: telling a collector of it`,
        value: (100 * median(told)) / median(answers),
        unit: '%',
        aim: { at_most: 10 },
        conditions: `${spans} spans, every one recorded and exported, and a measure, of the processor time of an answer (${median(answers).toFixed(2)} ms); medians of ${rounds} rounds of ${seconds} s, ${CONNECTIONS} connections`,
      });
      const of = { url: database.url, home, key: scene.agent_key, turns: smoke ? 2 : TURNS };
      report.add(inReport(name, await inTurns(request, endpoint, of)));
      report.add({
        name: `${name}: hooks while nobody traces`,
        value: (100 * HOOKS * (await hookMs())) / median(answers),
        unit: '%',
        aim: { at_most: 3 },
        conditions: `${HOOKS} hooks, each the mean of ${CALLS} calls, of the processor time of an answer`,
      });
    }
  } finally {
    await service.stop();
    collector.closeAllConnections();
    collector.close();
    await database.close();
  }
}

const inReport = (name: string, turns: number[]): Parameters<Report['add']>[0] => ({
  name: `${name}: by a process that traces, beside itself when it does not`,
  value: 100 * (median(turns) - 1),
  unit: '%',
  aim: { at_most: 10 },
  conditions: `processor time of an answer, median of ${turns.length} pairs of ${SLICE_MS} ms each; half of them between ${quartiles(turns)} %`,
});

function quartiles(turns: number[]): string {
  const sorted = turns.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]!;
  return [at(0.25), at(0.75)].map((turn) => (100 * (turn - 1)).toFixed(1)).join(' and ');
}

/** For each pair of slices, the CPU time per response while the process traces, relative to when it does not. */
async function inTurns(
  request: LoadRequest,
  endpoint: string,
  { url, home, key, turns }: { url: string; home: string; key: string; turns: number },
): Promise<number[]> {
  const settings = environment({ SERVICE_ROLE: 'web', DATABASE_URL: url, SERVICE_HOME: home });
  const web = await forkModule('switched-web.ts', [
    JSON.stringify({ settings, endpoint, rounds: turns, slice_ms: SLICE_MS }),
  ]);
  try {
    await loadFor(web.greeting, key, [request], WARM_UP_SEC);
    const load = { over: false };
    const measured = once(web.child, 'message').then(([message]) => {
      load.over = true;
      return JSON.parse(String(message)) as number[];
    });
    web.child.send('go');
    while (!load.over) await loadFor(web.greeting, key, [request], LOAD_SEC);
    return await measured;
  } finally {
    await web.stop();
  }
}

/** CPU milliseconds to record a request with that many spans, and to send them. */
async function toldMs(endpoint: string, spans: number): Promise<number> {
  const telemetry = await startTelemetry(loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }));
  const work = async () => Promise.resolve();
  const request = async (): Promise<void> => {
    const span = openSpan('GET', { kind: 'server', parent: null });
    await span.within(async () => {
      for (let inner = 1; inner < spans; inner += 1)
        await traced('transaction', { attributes: { 'db.system.name': 'postgresql' } }, work);
      await work();
    });
    const told = {
      'http.request.method': 'GET',
      'http.route': 'issues.get',
      'http.response.status_code': 200,
    };
    span.rename('GET issues.get');
    span.set(told);
    span.end();
    measure('http.server.request.duration', 0.003, told);
  };
  try {
    const before = process.cpuUsage();
    for (let n = 0; n < TOLD; n += 1) {
      await request();
      if (n % AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    // Flushing buffered spans is part of the cost.
    await telemetry.stop();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / TOLD;
  } finally {
    await telemetry.stop();
  }
}

/** CPU time of one hook, beyond that of the awaited work itself. */
async function hookMs(): Promise<number> {
  const work = async () => 1;
  const time = async (call: () => Promise<number>) => {
    const before = process.cpuUsage();
    for (let n = 0; n < CALLS; n += 1) await call();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  await time(work);
  const bare = await time(work);
  return Math.max(0, (await time(async () => traced('bench', {}, work))) - bare) / CALLS;
}
