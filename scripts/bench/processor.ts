/** (p) CPU time of operations over all processes, including PostgreSQL's: valid on a busy machine, too. */
import path from 'node:path';
import { cloneDatabase, forkFakeModel, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { forkModule } from './forked.ts';
import { load, loadFor } from './load.ts';
import type { LoadRequest } from './load.ts';
import { postgresProcesses } from './postgres-processes.ts';
import { ONLY_LOOK } from './quick-model.ts';
import type { BenchOptions, Report } from './report.ts';
import { finishedRuns, tiers, trigger } from './runs.ts';
import { createScene } from './scene.ts';
import type { Scene } from './scene.ts';
import { processorMs, startService, startWeb } from './service.ts';
import { median } from './statistics.ts';

/** Concurrent clients. */
const CLIENTS = 16;
const COMPANIES = 16;

interface Act {
  name: string;
  aim_ms?: number;
  requests(scene: Scene): LoadRequest[];
  /** Whether the bare handler supports it. */
  bare?: boolean;
}

const filed = JSON.stringify({
  title: 'Paint the shed behind the house',
  body_markdown: 'It has lost its colour on the side of the weather.',
});

const acts: readonly Act[] = [
  {
    name: 'read an issue',
    bare: true,
    requests: ({ issue_ids }) => [{ method: 'GET', path: `/api/issues/${issue_ids[0]}` }],
  },
  {
    name: 'list 50 issues',
    bare: true,
    requests: ({ company_id }) => [{ method: 'GET', path: `/api/companies/${company_id}/issues` }],
  },
  {
    name: 'file an issue',
    aim_ms: 0.8,
    bare: true,
    requests: ({ company_id }) => [
      { method: 'POST', path: `/api/companies/${company_id}/issues`, body: filed },
    ],
  },
  {
    name: 'change a status',
    aim_ms: 0.8,
    // Each client moves issues of its own back and forth: a request that changes nothing writes nothing.
    requests: ({ issue_ids }) =>
      inParts(issue_ids, CLIENTS).flatMap((part) =>
        ['in_progress', 'todo'].flatMap((status) =>
          part.map((id) => ({
            method: 'PATCH' as const,
            path: `/api/issues/${id}`,
            body: JSON.stringify({ status }),
          })),
        ),
      ),
  },
  {
    name: 'comment',
    aim_ms: 0.8,
    requests: ({ issue_ids }) =>
      issue_ids.map((id) => ({
        method: 'POST',
        path: `/api/issues/${id}/comments`,
        body: JSON.stringify({ body_markdown: 'Two coats are on, the third waits for dry weather.' }),
      })),
  },
];

export async function benchProcessor(report: Report, options: BenchOptions): Promise<void> {
  report.section('(p) processor time, of all processes together');
  await benchActs(report, options);
  await benchSpread(report, options);
  await benchRuns(report, options);
}

async function benchActs(report: Report, { smoke }: BenchOptions): Promise<void> {
  const database = await cloneDatabase('bench_processor');
  const scene = await createScene(database, { agents: 1, issues: 400 });
  const service = await startWeb(database);
  const bare = await forkModule('bare-express.ts', [database.url]);
  try {
    const clock = await processorClock(database);
    const [rounds, seconds] = smoke ? [1, 1] : [5, 3];
    for (const act of acts) {
      const requests = act.requests(scene);
      const spent = async (url: string, key: string, pid: number): Promise<Spent> => {
        const before = await clock(pid);
        const { count, a_second } = await loadFor(url, key, requests, seconds, CLIENTS);
        const after = await clock(pid);
        const each = (name: keyof typeof after) => (after[name] - before[name]) / count;
        return { process: each('process'), database: each('database'), a_second };
      };
      const ours = async () => spent(service.url, scene.board_key, service.pid);
      // It only knows agents' keys.
      const theirs = async () => spent(bare.greeting, scene.agent_key, bare.child.pid!);
      await ours();
      if (act.bare) await theirs();
      const [mine, their]: [Spent[], Spent[]] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        mine.push(await ours());
        if (act.bare) their.push(await theirs());
      }
      report.add({
        name: `processor time: ${act.name}`,
        value: median(mine.map(total)),
        unit: 'ms',
        ...(act.aim_ms === undefined ? {} : { aim: { at_most: act.aim_ms } }),
        conditions: `${described(mine)}; ${CLIENTS} clients${act.bare ? `; bare Express with the same SQL: ${median(their.map(total)).toFixed(2)} ms` : ''}`,
      });
    }
  } finally {
    await Promise.all([service.stop(), bare.stop()]);
    await database.close();
  }
}

interface Spent {
  process: number;
  database: number;
  a_second: number;
}

const total = ({ process: own, database }: Spent): number => own + database;

function described(rounds: readonly Spent[]): string {
  const of = (name: keyof Spent) => median(rounds.map((round) => round[name]));
  return `service ${of('process').toFixed(2)} ms, PostgreSQL ${of('database').toFixed(2)} ms, ${of('a_second').toFixed(0)} a second`;
}

/** Compares issues filed in one company, whose numbers come from one counter, with issues spread over many. */
async function benchSpread(report: Report, { smoke }: BenchOptions): Promise<void> {
  const database = await cloneDatabase('bench_spread');
  const scenes: Scene[] = [];
  for (let n = 0; n < COMPANIES; n += 1) scenes.push(await createScene(database, { agents: 1, issues: 1 }));
  const service = await startWeb(database);
  try {
    const [rounds, seconds] = smoke ? [1, 1] : [7, 3];
    const requests = scenes.map(({ company_id, board_key }) => ({
      method: 'POST' as const,
      path: `/api/companies/${company_id}/issues`,
      body: filed,
      headers: { authorization: `Bearer ${board_key}` },
    }));
    const file = async (some: LoadRequest[]) => load(service.url, '', some, seconds, CLIENTS);
    const ratios: number[] = [];
    const rates: number[] = [];
    await file(requests);
    for (let round = 0; round < rounds; round += 1) {
      const one = await file(requests.slice(0, 1));
      ratios.push((100 * one) / (await file(requests)));
      rates.push(one);
    }
    report.add({
      name: `filing in one company, of spread over ${COMPANIES}`,
      value: median(ratios),
      unit: '%',
      aim: { at_least: 95 },
      conditions: `${median(rates).toFixed(0)} a second in one; median of ${rounds} alternating rounds of ${seconds} s, ${CLIENTS} clients`,
    });
  } finally {
    await service.stop();
    await database.close();
  }
}

/** Triggers runs as fast as they finish, so that neither tier idles and nothing waits for long. */
async function benchRuns(report: Report, { smoke }: BenchOptions): Promise<void> {
  const database = await cloneDatabase('bench_run_time');
  const model = await forkFakeModel({ script_module: path.join(import.meta.dirname, 'quick-model.ts') });
  const issues = smoke ? 200 : 2000;
  const scene = await createScene(database, { agents: 64, issues, max_concurrent_runs: 4, title: ONLY_LOOK });
  const settings = tiers(database.url, model);
  const web = await startService({ ...settings, SERVICE_ROLE: 'web' });
  const scheduler = await startService({ ...settings, SERVICE_ROLE: 'scheduler' });
  try {
    const clock = await processorClock(database);
    const used = async () => Promise.all([clock(web.pid), clock(scheduler.pid)]);
    const waiting = [...scene.issue_ids];
    const runAll = async (ids: string[]): Promise<void> => {
      const before = await finishedRuns(database);
      const wanted = before + ids.length;
      const invoker = async (): Promise<void> => {
        for (let id = ids.pop(); id !== undefined; id = ids.pop()) await trigger(web.url, scene, id);
      };
      await Promise.all(Array.from({ length: 8 }, invoker));
      const ended = async () => (await finishedRuns(database)) >= wanted;
      await waitFor(ended, { what: 'the end of all runs', timeout_ms: 300_000 });
    };
    // Warms up compiled code, connections and plans.
    await runAll(waiting.splice(0, issues / 4));
    const [count, startedAt, before] = [waiting.length, performance.now(), await used()];
    await runAll(waiting);
    const [seconds, after] = [(performance.now() - startedAt) / 1000, await used()];
    const each = (tier: 0 | 1, of: keyof Used) => (after[tier][of] - before[tier][of]) / count;
    report.add({
      name: 'processor time: a run that only says something',
      value: each(0, 'process') + each(1, 'process') + each(1, 'database'),
      unit: 'ms',
      aim: { at_most: 10 },
      conditions:
        `scheduler ${each(1, 'process').toFixed(1)} ms, web (the trigger) ${each(0, 'process').toFixed(1)} ms, ` +
        `PostgreSQL ${each(1, 'database').toFixed(1)} ms; ${count} runs, ${(count / seconds).toFixed(0)} a second`,
    });
  } finally {
    await Promise.all([web.stop(), scheduler.stop()]);
    await model.close();
    await database.close();
  }
}

function inParts<T>(list: readonly T[], parts: number): T[][] {
  const size = Math.ceil(list.length / parts);
  return Array.from({ length: parts }, (_, n) => list.slice(n * size, (n + 1) * size));
}

interface Used {
  process: number;
  database: number;
}

/** CPU time used so far by a process and by all of PostgreSQL's processes, in milliseconds. */
async function processorClock(kit: TestDatabase): Promise<(pid: number) => Promise<Used>> {
  const servers = await postgresProcesses(kit);
  return async (pid) => {
    const times = await Promise.all((await servers()).map(async (each) => processorMs(each)));
    return { process: await processorMs(pid), database: times.reduce((sum, ms) => sum + ms, 0) };
  };
}
