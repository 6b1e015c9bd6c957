/** (c) Latency from the commit to the frame on the live stream. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { recordChanges } from '@acp/core';
import { transaction } from '@acp/db';
import { actors, cloneDatabase, createIssue, createKeyOf } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { forkModule } from './forked.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene } from './scene.ts';
import type { Scene } from './scene.ts';
import { startWeb } from './service.ts';
import { machineNow, percentile } from './statistics.ts';

const PAUSE_MS = 100;

export async function benchLive(report: Report, options: BenchOptions): Promise<void> {
  report.section('(c) live');
  const database = await cloneDatabase('bench_live');
  // Commits happen here, as in a scheduler: in a different process from the one that streams.
  void database.notifier;
  await database.listener.ready();
  // A key may have fifty open streams.
  const scene = await createScene(database, { agents: 20, issues: 1 });
  const keys: string[] = [];
  for (const id of scene.agent_ids)
    keys.push((await createKeyOf(database.database.db, { id, company_id: scene.company_id })).raw_key);
  const web = await startWeb(database);
  try {
    const events = options.smoke ? 20 : 200;
    const one = await measure(database, scene, keys, web.url, 1, events);
    report.add({
      name: 'commit to SSE frame, p50',
      value: percentile(one, 50),
      unit: 'ms',
      aim: { at_most: 15 },
      conditions: `1 client, ${events} events, one every ${PAUSE_MS} ms; p95 ${percentile(one, 95).toFixed(1)} ms`,
    });
    const many = await measure(database, scene, keys, web.url, 1000, events);
    report.add({
      name: 'commit to SSE frame, p95, 1,000 clients',
      value: percentile(many, 95),
      unit: 'ms',
      aim: { at_most: 100 },
      conditions:
        `${many.length} of ${events * 1000} frames came; each event goes to all clients; ` +
        `p50 ${percentile(many, 50).toFixed(1)} ms; clients are one process on the same machine`,
    });
  } finally {
    await web.stop();
    await database.close();
  }
}

/** Latencies of all frames at all clients, in milliseconds. */
async function measure(
  { database }: TestDatabase,
  scene: Scene,
  keys: readonly string[],
  url: string,
  clients: number,
  events: number,
): Promise<number[]> {
  const readers = await forkModule('live-clients.ts');
  try {
    readers.child.send({ url, keys, clients });
    await once(readers.child, 'message');
    const commits: Record<string, number> = {};
    const issue = await createIssue(database.db, { id: scene.company_id }, {});
    for (let n = -5; n < events; n += 1) {
      const marker = `mark-${clients}-${n}`;
      await transaction(database, async (tx) => {
        const data = { ...issue, title: marker, status: 'todo', priority: 'medium' } as const;
        await recordChanges(tx, actors.system, [
          {
            company_id: scene.company_id,
            entity_type: 'issue',
            entity_id: issue.id,
            event: { type: 'issue_updated', data },
          },
        ]);
      });
      // The first few only warm up.
      if (n >= 0) commits[marker] = machineNow();
      await delay(PAUSE_MS);
    }
    await delay(1000);
    readers.child.send({ commits });
    const [{ latencies }] = (await once(readers.child, 'message')) as [{ latencies: number[] }];
    return latencies;
  } finally {
    await readers.stop();
  }
}
