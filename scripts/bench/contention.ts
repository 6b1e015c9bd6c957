/** (o) As many schedulers as one PostgreSQL can take: light clients that only claim, renew and finish runs. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@acp/db';
import { cloneDatabase } from '@acp/testkit';
import { forkModule } from './forked.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene } from './scene.ts';
import { percentile } from './statistics.ts';

const COMPANIES = 50;
const AGENTS = 20;
const PROCESSES = 3;
/** More than are claimed in the available time. */
const WAITING = 60_000;
const LOOK_EVERY_MS = 40;

export interface Told {
  url: string;
  schedulers: number;
  ms: number;
}

export interface Answer {
  finished: number;
  claim_ms: number[];
  failures: string[];
}

export async function benchContention(report: Report, { smoke }: BenchOptions): Promise<void> {
  report.section('(o) claims by many schedulers');
  const ms = smoke ? 1000 : 8000;
  const kit = await cloneDatabase('bench_contention');
  for (let n = 0; n < COMPANIES; n += 1)
    await createScene(kit, { agents: AGENTS, issues: 0, max_concurrent_runs: 4 });
  await kit.database.pool.query(
    `insert into heartbeat_runs (company_id, agent_id, status, wake_reason, adapter_type)
     select a.company_id, a.id, 'queued', 'manual', 'llm' from agents a, generate_series(1, $1::int)`,
    [(smoke ? WAITING / 20 : WAITING) / (COMPANIES * AGENTS)],
  );
  await kit.database.pool.query('analyze');
  const clients = await Promise.all(
    Array.from({ length: PROCESSES }, async () => forkModule('contention-clients.ts')),
  );
  try {
    let alone = 0;
    for (const schedulers of smoke ? [3, 12] : [1, 5, 10, 25, 50]) {
      const parts = clients.map((_, place) => Math.floor((schedulers + PROCESSES - 1 - place) / PROCESSES));
      const looking = lookAtWaits(kit.database, ms);
      const answers = await Promise.all(
        clients.map(async ({ child }, place) => {
          child.send({ url: kit.url, schedulers: parts[place]!, ms } satisfies Told);
          const [answer] = (await once(child, 'message')) as [Answer];
          return answer;
        }),
      );
      const rate = answers.reduce((sum, { finished }) => sum + finished, 0) / (ms / 1000);
      const waits = answers.flatMap(({ claim_ms }) => claim_ms);
      const waiting = await looking;
      const failures = answers.flatMap((answer) => answer.failures);
      alone ||= rate / schedulers;
      report.add({
        name: `runs claimed and finished a second, ${schedulers} schedulers`,
        value: rate,
        unit: '/s',
        conditions:
          `each one run at a time; ${waiting.toFixed(0)} % of the busy sessions waited for a lock; a claim took ${percentile(waits, 50).toFixed(1)} ms (p50), ` +
          `${percentile(waits, 95).toFixed(1)} ms (p95); ${(rate / schedulers / alone).toFixed(2)} of the first figure for each; ` +
          `${failures.length} failures${failures.length > 0 ? `, the first: ${failures[0]}` : ''}`,
      });
    }
  } finally {
    await Promise.all(clients.map(async (client) => client.stop()));
    await kit.close();
  }
}

/** Share of active sessions that were waiting for another session's lock, in percent. */
async function lookAtWaits({ pool }: Database, ms: number): Promise<number> {
  let [busy, waiting] = [0, 0];
  const until = performance.now() + ms;
  while (performance.now() < until) {
    const { rows } = await pool.query<{ busy: number; waiting: number }>(`
      select count(*)::int as busy, count(*) filter (where wait_event_type = 'Lock')::int as waiting
      from pg_stat_activity where application_name like 'scheduler-%' and state = 'active'
        and wait_event_type is distinct from 'Client'`);
    busy += rows[0]!.busy;
    waiting += rows[0]!.waiting;
    await delay(LOOK_EVERY_MS);
  }
  return busy === 0 ? 0 : (waiting / busy) * 100;
}
