/** (e) Routines, and the cost of a run with ten verbs compared to one with none. */
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cloneDatabase, forkFakeModel, startStatementCounter, waitFor } from '@acp/testkit';
import type { ForkedFakeModel, StatementCounter, TestDatabase } from '@acp/testkit';
import { CONNECTIONS, load as fire, type LoadRequest } from './load.ts';
import { ONLY_LOOK, TEN_VERBS } from './quick-model.ts';
import type { BenchOptions, Report } from './report.ts';
import { finishedRuns, quiet, tiers, trigger } from './runs.ts';
import { createScene, type Scene } from './scene.ts';
import { startService } from './service.ts';
import { median } from './statistics.ts';

const VERBS = 10;

export async function benchWork(report: Report, options: BenchOptions): Promise<void> {
  report.section('(e) routines and verbs');
  const model = await forkFakeModel({ script_module: path.join(import.meta.dirname, 'quick-model.ts') });
  try {
    for (const [label, bench] of [
      ['bench_fires', benchFires],
      ['bench_schedules', benchSchedules],
      ['bench_verbs', benchVerbs],
    ] as const) {
      const database = await cloneDatabase(label);
      try {
        await bench(report, { database, model }, options);
      } finally {
        await database.close();
      }
    }
  } finally {
    await model.close();
  }
}

interface Stage {
  database: TestDatabase;
  model: ForkedFakeModel;
}

/** Firing a routine creates an issue; the cost beyond that is the routine's. */
async function benchFires(
  report: Report,
  { database, model }: Stage,
  { smoke }: BenchOptions,
): Promise<void> {
  const scene = await createScene(database, { agents: 1, issues: 1 });
  const web = await startService({ ...tiers(database.url, model), SERVICE_ROLE: 'web' });
  try {
    // Firings of one routine are serialized, so each connection has its own routine.
    const routines = await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, n) =>
        post<{ id: string }>(web.url, scene, `/api/companies/${scene.company_id}/routines`, {
          name: `Routine ${n}`,
          title_template: 'Paint the shed behind the house',
          body_template: 'It has lost its colour on the side of the weather.',
        }),
      ),
    );
    const create: LoadRequest = {
      method: 'POST',
      path: `/api/companies/${scene.company_id}/issues`,
      body: JSON.stringify({
        title: 'Paint the shed behind the house',
        body_markdown: 'It has lost its colour on the side of the weather.',
      }),
    };
    const fires = routines.map(({ id }): LoadRequest => ({
      method: 'POST',
      path: `/api/routines/${id}/fire`,
      body: '{}',
    }));
    const [rounds, seconds] = smoke ? [1, 1] : [7, 3];
    const load = async (requests: readonly LoadRequest[]): Promise<number> =>
      fire(web.url, scene.board_key, requests, seconds);
    await load([create]);
    await load(fires);
    const rates: number[] = [];
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const [mine, plain] = [await load(fires), await load([create])];
      rates.push(mine);
      ratios.push((100 * mine) / plain);
    }
    report.add({
      name: 'fire a routine: of creating an issue',
      value: median(ratios),
      unit: '%',
      conditions: `${median(rates).toFixed(0)} fires/s by one web process; median of ${rounds} alternating rounds of ${seconds} s, ${CONNECTIONS} connections and routines`,
    });
  } finally {
    await web.stop();
  }
}

/** Schedules that are all due when the scheduler starts. */
async function benchSchedules(
  report: Report,
  { database, model }: Stage,
  { smoke }: BenchOptions,
): Promise<void> {
  const count = smoke ? 100 : 2000;
  const scene = await createScene(database, { agents: 1, issues: 0 });
  const { pool } = database.database;
  await pool.query(
    `with routine as (
       insert into routines (company_id, name, title_template, priority, status, concurrency_policy)
       select $1, 'Routine ' || n, 'Paint the shed', 'medium', 'active', 'always_enqueue' from generate_series(1, $2) n
       returning id, company_id)
     insert into routine_triggers (company_id, routine_id, kind, enabled, public_id, signing_mode, replay_window_sec,
       cron_expression, timezone, next_fire_at)
     select company_id, id, 'schedule', true, gen_random_uuid(), 'none', 300, '0 9 * * 1', 'UTC', now() - interval '1 hour'
     from routine`,
    [scene.company_id, count],
  );
  const scheduler = await startService({ ...tiers(database.url, model), SERVICE_ROLE: 'scheduler' });
  try {
    const fired = async (): Promise<number> =>
      (await pool.query<{ count: number }>('select count(*)::int as count from routine_runs')).rows[0]!.count;
    await waitFor(async () => (await fired()) >= count, { what: 'all fires', timeout_ms: 300_000 });
    const { rows } = await pool.query<{ seconds: number }>(
      'select extract(epoch from max(created_at) - min(created_at))::float8 as seconds from routine_runs',
    );
    report.add({
      name: 'scheduled fires per second',
      value: count / rows[0]!.seconds,
      unit: '/s',
      conditions: `${count} schedules of as many routines, all due at once; one scheduler; each makes an issue`,
    });
  } finally {
    await scheduler.stop();
  }
}

/** Alternates runs with ten verbs and with none. */
async function benchVerbs(
  report: Report,
  { database, model }: Stage,
  { smoke }: BenchOptions,
): Promise<void> {
  const counter = await startStatementCounter(database.url);
  const settings = tiers(counter.url, model);
  const web = await startService({ ...settings, SERVICE_ROLE: 'web' });
  const scheduler = await startService({ ...settings, SERVICE_ROLE: 'scheduler' });
  try {
    const issues = smoke ? 5 : 60;
    const none = await createScene(database, { agents: 1, issues, title: ONLY_LOOK });
    const ten = await createScene(database, { agents: 1, issues, title: TEN_VERBS });
    const run = async (scene: Scene, at: number): Promise<number> => measureRun(database, web.url, scene, at);
    for (const scene of [none, ten]) await run(scene, 0);
    const took = { none: [] as number[], ten: [] as number[] };
    for (let at = 1; at < issues; at += 1) {
      took.none.push(await run(none, at));
      took.ten.push(await run(ten, at));
    }
    const ratios = took.ten.map((ms, at) => ms / took.none[at]!);
    const statements =
      (await countRun(counter, database, web.url, ten)) - (await countRun(counter, database, web.url, none));
    const conditions = `from claim to end, median of ${issues - 1} runs each in turns; ${median(took.none).toFixed(0)} ms with none, ${median(took.ten).toFixed(0)} ms with ten`;
    report.add({
      name: 'a run with ten verbs: of one with none',
      value: 100 * median(ratios),
      unit: '%',
      conditions,
    });
    report.add({
      name: 'statements: of each of ten verbs',
      value: statements / VERBS,
      unit: '',
      aim: { at_most: 8 },
      conditions: 'BEGIN and COMMIT included; two of them change the issue, the others each make something',
    });
  } finally {
    await Promise.all([web.stop(), scheduler.stop()]);
    counter.close();
  }
}

/** Milliseconds from claim to finish, by the database's clock. */
async function measureRun(database: TestDatabase, url: string, scene: Scene, at: number): Promise<number> {
  const issueId = scene.issue_ids[at]!;
  const finished = await finishedRuns(database);
  await trigger(url, scene, issueId);
  await waitFor(async () => (await finishedRuns(database)) > finished, { what: 'the end of the run' });
  await delay(20);
  const { rows } = await database.database.pool.query<{ ms: number; status: string }>(
    `select extract(epoch from finished_at - started_at)::float8 * 1000 as ms, status from heartbeat_runs
     where issue_id = $1 order by created_at desc limit 1`,
    [issueId],
  );
  if (rows[0]?.status !== 'succeeded') throw new Error(`a run ended as ${rows[0]?.status}`);
  return rows[0].ms;
}

/** Counts the statements of one more run on the last issue, over all connections. */
async function countRun(
  counter: StatementCounter,
  database: TestDatabase,
  url: string,
  scene: Scene,
): Promise<number> {
  await quiet(counter);
  const from = counter.total();
  await measureRun(database, url, scene, scene.issue_ids.length - 1);
  return counter.total() - from;
}

async function post<T>(url: string, { board_key }: Scene, where: string, body: object): Promise<T> {
  const response = await fetch(url + where, {
    method: 'POST',
    headers: { authorization: `Bearer ${board_key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${where} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}
