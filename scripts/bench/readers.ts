/** (n) Ten thousand readers of the live stream on one web process, and their cost. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { recordChanges } from '@acp/core';
import { transaction } from '@acp/db';
import { actors, cloneDatabase, createIssue } from '@acp/testkit';
import { forkModule } from './forked.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene, type Scene } from './scene.ts';
import { processorMs, residentBytes, startWeb } from './service.ts';
import { machineNow, percentile } from './statistics.ts';

/** Maximum number of streams per key. */
const EACH = 50;
const EVENTS_A_SECOND = 100;
const TICK_MS = 50;

export async function benchReaders(report: Report, { smoke }: BenchOptions): Promise<void> {
  report.section('(n) many live readers');
  const companies = smoke ? 10 : 200;
  const seconds = smoke ? 3 : 20;
  const kit = await cloneDatabase('bench_readers');
  void kit.notifier;
  await kit.listener.ready();
  const scenes: Scene[] = [];
  for (let n = 0; n < companies; n += 1) scenes.push(await createScene(kit, { agents: 1, issues: 0 }));
  const web = await startWeb(kit);
  const readers = await forkModule('live-clients.ts');
  try {
    const before = await residentBytes(web.pid);
    const clients = companies * EACH;
    readers.child.send({ url: web.url, keys: scenes.map(({ agent_key }) => agent_key), clients });
    await once(readers.child, 'message');
    const connected = await residentBytes(web.pid);
    const idle = await processorMs(web.pid);
    const commits = await publish(kit, scenes, seconds);
    await delay(2000);
    const used = (await processorMs(web.pid)) - idle;
    const loaded = await residentBytes(web.pid);
    readers.child.send({ commits });
    const [{ latencies }] = (await once(readers.child, 'message')) as [{ latencies: number[] }];
    const sent = Object.keys(commits).length;
    const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`;
    report.add({
      name: `commit to SSE frame, p99, ${clients} readers`,
      value: percentile(latencies, 99),
      unit: 'ms',
      aim: { at_most: 250 },
      conditions:
        `${companies} companies, ${EACH} readers each; ${(sent / seconds).toFixed(0)} events a second, each to the readers of one ` +
        `company; ${latencies.length} of ${sent * EACH} frames came; p50 ${percentile(latencies, 50).toFixed(1)} ms; ` +
        'readers and publisher on the same machine',
    });
    report.add({
      name: 'processor time of the web process for 1,000 frames',
      value: (used / latencies.length) * 1000,
      unit: 'ms',
      conditions: `${used} ms for ${sent} events to ${EACH} readers each, with ${clients} connected; reading the events included`,
    });
    report.add({
      name: `resident memory of the web process, ${clients} readers`,
      value: Math.round(loaded / 2 ** 20),
      unit: 'MB',
      aim: { at_most: 400 },
      conditions: `${megabytes(before)} before they came, ${megabytes(connected)} before the first event`,
    });
  } finally {
    await readers.stop();
    await web.stop();
    await kit.close();
  }
}

/** @returns the time of each commit, by its marker */
async function publish(
  { database }: Awaited<ReturnType<typeof cloneDatabase>>,
  scenes: readonly Scene[],
  seconds: number,
): Promise<Record<string, number>> {
  const commits: Record<string, number> = {};
  const template = await createIssue(database.db, { id: scenes[0]!.company_id }, {});
  async function one(n: number): Promise<void> {
    const { company_id } = scenes[n % scenes.length]!;
    const title = `mark-${n}`;
    const data = { ...template, company_id, title, status: 'todo', priority: 'medium' } as const;
    await transaction(database, async (tx) =>
      recordChanges(tx, actors.system, [
        {
          company_id,
          entity_type: 'issue',
          entity_id: template.id,
          event: { type: 'issue_updated', data },
        },
      ]),
    );
    commits[title] = machineNow();
  }
  const each = (EVENTS_A_SECOND * TICK_MS) / 1000;
  const beganAt = performance.now();
  for (let tick = 0; tick < (seconds * 1000) / TICK_MS; tick += 1) {
    await Promise.all(Array.from({ length: each }, async (_, place) => one(tick * each + place)));
    await delay(Math.max(0, beganAt + (tick + 1) * TICK_MS - performance.now()));
  }
  return commits;
}
