/** (f) One web process and a fleet: the cost of idle workers, of 10,000 of them, and of a long queue. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { signal, transaction } from '@acp/db';
import { newApiKey, sha256Hex } from '@acp/kernel';
import { cloneDatabase, fakeTaskPayload, type TestDatabase, waitFor } from '@acp/testkit';
import type { FleetCount } from './fleet-clients.ts';
import { forkModule } from './forked.ts';
import { load, type LoadRequest } from './load.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene, type Scene } from './scene.ts';
import { startWeb } from './service.ts';
import { median, percentile } from './statistics.ts';

const WORKERS = 10_000;
/** Number of keep-alive connections of the clients. */
const SOCKETS = 200;
const WAITING = 10_000;
const FEED_MS = 100;

interface Fleet {
  database: TestDatabase;
  scene: Scene;
  url: string;
  keys: string[];
}

export async function benchFleet(report: Report, options: BenchOptions): Promise<void> {
  report.section('(f) remote workers, one web process');
  const database = await cloneDatabase('bench_fleet');
  void database.notifier;
  const scene = await createScene(database, { agents: 10, issues: 1 });
  const keys = await createWorkers(database, WORKERS);
  const service = await startWeb(database);
  const fleet = { database, scene, url: service.url, keys };
  try {
    await idleRequests(report, fleet, options);
    await wholeFleet(report, fleet, options);
    await longQueue(report, fleet, options);
  } finally {
    await service.stop();
    await database.close();
  }
}

/** Measures claims that find nothing, and heartbeats, at full speed. */
async function idleRequests(report: Report, fleet: Fleet, options: BenchOptions): Promise<void> {
  const { database, url, keys } = fleet;
  const bare = await forkModule('bare-fleet.ts', [database.url]);
  try {
    const [rounds, seconds] = options.smoke ? [1, 1] : [5, 4];
    for (const [name, path] of [
      ['claims', '/api/workers/tasks/claim'],
      ['heartbeats', '/api/workers/heartbeat'],
    ] as const) {
      // As many workers as a connection serves in a few seconds.
      const requests = keys
        .slice(0, 500)
        .map((key): LoadRequest => ({ method: 'POST', path, headers: { authorization: `Bearer ${key}` } }));
      const fire = async (target: string) => load(target, '', requests, seconds, SOCKETS);
      for (const target of [url, bare.greeting]) await fire(target);
      const ours: number[] = [];
      const ratios: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const [mine, theirs] = [await fire(url), await fire(bare.greeting)];
        ours.push(mine);
        ratios.push((100 * mine) / theirs);
      }
      report.add({
        name: `${name} of idle workers: of bare Express`,
        value: median(ratios),
        unit: '%',
        aim: { at_least: 70 },
        conditions:
          `${median(ours).toFixed(0)} requests/s over ${SOCKETS} connections; ` +
          `the bare one sends one indexed statement; ${rounds} alternating rounds of ${seconds} s`,
      });
    }
  } finally {
    await bare.stop();
  }
}

/** Runs 10,000 workers at their default intervals, while tasks arrive and are completed. */
async function wholeFleet(report: Report, fleet: Fleet, options: BenchOptions): Promise<void> {
  const { database, url, keys } = fleet;
  const clients = await forkModule('fleet-clients.ts');
  try {
    const seconds = options.smoke ? 5 : 60;
    clients.child.send({ url, keys, seconds });
    const feeding = new AbortController();
    const fed = feed(fleet, feeding.signal);
    const [count] = (await once(clients.child, 'message')) as [FleetCount];
    feeding.abort();
    const queued = await fed;
    const { rows } = await database.database.pool.query<{ status: string; count: number }>(
      'select status, count(*)::int as count from remote_tasks group by status',
    );
    const refusals = Object.entries(count.refusals).map(([status, times]) => `${times} × ${status}`);
    report.add({
      name: `${WORKERS.toLocaleString('en')} workers: requests a second, carried`,
      value: count.rate,
      unit: '/s',
      aim: { at_least: 2300 },
      conditions: `for ${seconds} s, over ${SOCKETS} connections; unexpected answers: ${refusals.join(', ') || 'none'}`,
    });
    report.add({
      name: `${WORKERS.toLocaleString('en')} workers: p99 of a request`,
      value: percentile(count.latencies, 99),
      unit: 'ms',
      aim: { at_most: 1000 },
      conditions: `p50 ${median(count.latencies).toFixed(1)} ms; the clients share the machine`,
    });
    const left = rows
      .filter(({ status }) => status !== 'completed')
      .reduce((sum, each) => sum + each.count, 0);
    report.add({
      name: 'tasks that were lost or done twice',
      value: Math.abs(queued - count.completed - left),
      unit: 'tasks',
      aim: { at_most: 0 },
      conditions: `${queued} queued, ${count.completed} completed, ${left} were still on their way at the end`,
    });
  } finally {
    await clients.stop();
  }
}

async function longQueue(report: Report, fleet: Fleet, options: BenchOptions): Promise<void> {
  const { database, url, keys } = fleet;
  await queueTasks(fleet, WAITING);
  await database.database.pool.query('analyze remote_tasks');
  const claimed: number[] = [];
  const claim = async (key: string): Promise<void> => {
    const begin = performance.now();
    const response = await fetch(`${url}/api/workers/tasks/claim`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    });
    if (response.status === 200) claimed.push(performance.now() - begin);
    await response.text();
  };
  await waitFor(
    async () => {
      await claim(keys[0]!);
      return claimed.length > 0;
    },
    { what: 'the first task' },
  );
  claimed.length = 0;
  const rounds = options.smoke ? 10 : 100;
  for (let round = 0; round < rounds; round += 1)
    await Promise.all(keys.slice(round * 10, round * 10 + 10).map(claim));
  report.add({
    name: `claim to task, ${WAITING.toLocaleString('en')} tasks waiting, p95`,
    value: percentile(claimed, 95),
    unit: 'ms',
    aim: { at_most: 100 },
    conditions: `${claimed.length} claims, ten at once; p50 ${median(claimed).toFixed(1)} ms`,
  });
}

async function createWorkers({ database }: TestDatabase, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => newApiKey());
  await database.pool.query(
    `insert into workers (name, status, key_hash, key_prefix, online, last_seen_at)
     select 'worker ' || place, 'approved', hash, left(hash, 8), true, now()
     from unnest($1::text[]) with ordinality as made(hash, place)`,
    [keys.map((key) => sha256Hex(key))],
  );
  return keys;
}

/** Queues tasks steadily until aborted; returns how many. */
async function feed(fleet: Fleet, stop: AbortSignal): Promise<number> {
  let queued = 0;
  while (!stop.aborted) {
    await queueTasks(fleet, 2);
    queued += 2;
    await delay(FEED_MS);
  }
  return queued;
}

/** Inserts tasks as runs of remote agents do. */
async function queueTasks({ database, scene }: Fleet, count: number): Promise<void> {
  const { company_id, agent_ids } = scene;
  const payload = { ...fakeTaskPayload(), company_id, agent_id: agent_ids[0]! };
  await transaction(database.database, async (tx) => {
    await tx.execute(
      `with run as (
         insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, status, started_at, handed_over_at)
         select '${company_id}', '${agent_ids[0]!}', 'manual', 'remote', 'running', now(), now()
         from generate_series(1, ${count}) returning id
       )
       insert into remote_tasks (heartbeat_run_id, agent_id, company_id, payload, deadline, route)
       select id, '${agent_ids[0]!}', '${company_id}', '${JSON.stringify(payload).replaceAll("'", "''")}',
         now() + interval '1 hour', 'bench' from run`,
    );
    signal(tx, 'tasks', '');
  });
}
