/** (b) Latency from invoke to the model endpoint, runs per second, and costs in SQL statements. */
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cloneDatabase, forkFakeModel, startStatementCounter, waitFor } from '@acp/testkit';
import type { ForkedFakeModel, StatementCounter, TestDatabase } from '@acp/testkit';
import { ONLY_LOOK } from './quick-model.ts';
import type { BenchOptions, Report } from './report.ts';
import { finishedRuns, POOL_SIZE, quiet, tiers, trigger } from './runs.ts';
import { createScene } from './scene.ts';
import type { Scene } from './scene.ts';
import { startService } from './service.ts';
import { machineNow, percentile } from './statistics.ts';

const AGENTS = 64;
const RUN_CONDITIONS = 'each run: prompt, one model call, prose as a comment, the verb /status done';

interface Stage {
  database: TestDatabase;
  model: ForkedFakeModel;
  scene: Scene;
}

export async function benchDispatch(report: Report, options: BenchOptions): Promise<void> {
  report.section('(b) dispatch');
  const model = await forkFakeModel({ script_module: path.join(import.meta.dirname, 'quick-model.ts') });
  try {
    await onStage('bench_latency', options.smoke ? 30 : 200, model, async (stage) =>
      benchLatency(report, stage),
    );
    await onStage('bench_rate', options.smoke ? 200 : 2000, model, async (stage) => benchRate(report, stage));
    await onStage('bench_statements', 50, model, async (stage) => benchStatements(report, stage, options));
  } finally {
    await model.close();
  }
}

async function onStage(
  label: string,
  issues: number,
  model: ForkedFakeModel,
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const database = await cloneDatabase(label);
  try {
    const scene = await createScene(database, { agents: AGENTS, issues, max_concurrent_runs: 4 });
    await work({ database, model, scene });
  } finally {
    await database.close();
  }
}

async function benchLatency(report: Report, { database, model, scene }: Stage): Promise<void> {
  const settings = tiers(database.url, model);
  const scheduler = await startService({ ...settings, SERVICE_ROLE: 'scheduler' });
  const web = await startService({ ...settings, SERVICE_ROLE: 'web' });
  try {
    const before = (await model.journal()).count;
    const sent: number[] = [];
    for (const [done, issueId] of scene.issue_ids.entries()) {
      sent.push(machineNow());
      await trigger(web.url, scene, issueId);
      await waitFor(async () => (await finishedRuns(database)) > done, { what: 'the end of the run' });
      // Idle means that no traces of the last run are still being sent.
      await delay(20);
    }
    const { requests } = await model.journal();
    const received = requests
      .filter(({ n }) => n > before)
      .map(({ body }) => Number(body.received_at_machine));
    const latencies = received.map((moment, index) => moment - sent[index]!).slice(5);
    const conditions = `${latencies.length} runs one after the other; web and scheduler as a process each, HTTP included`;
    report.add({
      name: 'invoke to the model endpoint, p50',
      value: percentile(latencies, 50),
      unit: 'ms',
      aim: { at_most: 30 },
      conditions,
    });
    report.add({
      name: 'invoke to the model endpoint, p95',
      value: percentile(latencies, 95),
      unit: 'ms',
      aim: { at_most: 100 },
      conditions,
    });
  } finally {
    await Promise.all([web.stop(), scheduler.stop()]);
  }
}

/** All runs are queued through the API before the scheduler starts, so that only the scheduler is measured. */
async function benchRate(report: Report, { database, model, scene }: Stage): Promise<void> {
  const settings = tiers(database.url, model);
  const web = await startService({ ...settings, SERVICE_ROLE: 'web' });
  const invokedAt = performance.now();
  const waiting = [...scene.issue_ids];
  const invoker = async (): Promise<void> => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) await trigger(web.url, scene, id);
  };
  await Promise.all(Array.from({ length: 8 }, invoker));
  const invokesPerSecond = (1000 * scene.issue_ids.length) / (performance.now() - invokedAt);
  const { rows } = await database.database.pool.query<{ queued: number }>(
    `select count(*)::int as queued from heartbeat_runs where status = 'queued'`,
  );
  const queued = rows[0]?.queued ?? 0;
  const scheduler = await startService({ ...settings, SERVICE_ROLE: 'scheduler' });
  try {
    await waitFor(async () => (await finishedRuns(database)) >= queued, {
      what: 'the end of all runs',
      timeout_ms: 300_000,
    });
    const took = await database.database.pool.query<{ seconds: number; succeeded: number }>(`
      select extract(epoch from max(finished_at) - min(started_at))::float8 as seconds,
        count(*) filter (where status = 'succeeded')::int as succeeded from heartbeat_runs`);
    const { seconds = Number.NaN, succeeded = 0 } = took.rows[0] ?? {};
    report.add({
      name: 'runs per second',
      value: queued / seconds,
      unit: '/s',
      aim: { at_least: 100 },
      conditions:
        `${succeeded} of ${queued} queued runs succeeded; one scheduler, WORKER_POOL_SIZE=${POOL_SIZE}, ${AGENTS} agents; ` +
        `${RUN_CONDITIONS}; queued by the API at ${invokesPerSecond.toFixed(0)} requests/s before`,
    });
  } finally {
    await Promise.all([web.stop(), scheduler.stop()]);
  }
}

async function benchStatements(report: Report, stage: Stage, { smoke }: BenchOptions): Promise<void> {
  const { database, model, scene } = stage;
  const counter = await startStatementCounter(database.url);
  // The first backup of a new instance would be counted as idling.
  const settings = { ...tiers(counter.url, model), SERVICE_BACKUP_SCHEDULE: 'off' };
  const web = await startService({ ...settings, SERVICE_ROLE: 'web' });
  try {
    await countRequests(report, counter, web.url, scene);
    const scheduler = await startService({ ...settings, SERVICE_ROLE: 'scheduler' });
    try {
      // Jobs of the created issues, and one-time work at startup.
      await quiet(counter);
      const looked = await createScene(database, { agents: 1, issues: 40, title: ONLY_LOOK });
      const plain = {
        name: 'a whole run',
        aim: 30,
        conditions: 'prompt, one model call, prose as a comment',
      };
      await countRun(report, counter, { ...stage, scene: looked }, web.url, plain);
      const active = { name: 'a whole run with a verb', conditions: RUN_CONDITIONS };
      await countRun(report, counter, stage, web.url, active);
      await quiet(counter);
      await countIdle(report, counter, smoke ? 5 : 60);
    } finally {
      await scheduler.stop();
    }
  } finally {
    await web.stop();
    counter.close();
  }
}

async function countRequests(
  report: Report,
  counter: StatementCounter,
  url: string,
  { company_id, issue_ids, agent_ids, agent_key, board_key }: Scene,
): Promise<void> {
  const issues = `${url}/api/companies/${company_id}/issues`;
  const body = JSON.stringify({ title: 'Oil the hinges', assignee_agent_id: agent_ids[1] });
  const rows = [
    { name: 'reading an issue', aim: 3, key: agent_key, url: `${url}/api/issues/${issue_ids[0]}` },
    { name: 'a list', aim: 3, key: board_key, url: issues },
    // By then its key is no longer cached.
    { name: 'creating an issue', aim: 8, key: agent_key, url: issues, init: { method: 'POST', body } },
  ];
  for (const { name, aim, key, url: target, init } of rows) {
    // Longer than keys are cached, and than the delay after which their use is recorded.
    if (init !== undefined) {
      await delay(11_000);
      // What the process reads every ten seconds while there are requests belongs to none of them.
      await fetch(issues, { headers: { authorization: `Bearer ${board_key}` } });
    }
    await quiet(counter);
    const before = counter.counts();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(target, { ...init, headers });
    await response.text();
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    const { web = 0 } = counter.counts();
    report.add({
      name: `statements: ${name}`,
      value: web - (before.web ?? 0),
      unit: '',
      aim: { at_most: aim },
      conditions: 'on the wire, key look-up, BEGIN and COMMIT included; afterwards the key is known for 10 s',
    });
  }
}

async function countRun(
  report: Report,
  counter: StatementCounter,
  stage: Stage,
  url: string,
  kind: { name: string; aim?: number; conditions: string },
): Promise<void> {
  const [first = '', ...others] = stage.scene.issue_ids;
  const runOnce = async (issueId: string): Promise<void> => {
    const finished = await finishedRuns(stage.database);
    await trigger(url, stage.scene, issueId);
    await waitFor(async () => (await finishedRuns(stage.database)) > finished, {
      what: 'the end of the run',
    });
    // Completion of the job and the last notifications.
    await delay(30);
  };
  await runOnce(first);
  await quiet(counter);
  const before = counter.counts();
  const from = counter.total();
  for (const issueId of others) await runOnce(issueId);
  const after = counter.counts();
  const each = Object.entries(after).map(
    ([name, count]) => [name, (count - (before[name] ?? 0)) / others.length] as const,
  );
  report.add({
    name: `statements: ${kind.name}`,
    value: (counter.total() - from) / others.length,
    unit: '',
    ...(kind.aim === undefined ? {} : { aim: { at_most: kind.aim } }),
    conditions:
      `${kind.conditions}; mean of ${others.length} runs one after the other, all connections, timers included: ` +
      each.flatMap(([name, count]) => (count > 0 ? [`${name} ${count.toFixed(1)}`] : [])).join(', '),
  });
  const last = counter.texts().slice(-Math.ceil((counter.total() - from) / others.length));
  report.text(`the last of them:\n${last.join('\n')}`);
}

async function countIdle(report: Report, counter: StatementCounter, seconds: number): Promise<void> {
  const before = counter.total();
  await delay(seconds * 1000);
  const sent = counter.texts().slice(before);
  report.add({
    name: 'statements: an idle pair of tiers',
    value: sent.length / seconds,
    unit: '/s',
    aim: { at_most: 3 },
    conditions: `over ${seconds} s, all connections`,
  });
  const counted = Map.groupBy(sent, (text) => text);
  const most = [...counted].toSorted(([, a], [, b]) => b.length - a.length);
  report.text(most.map(([text, { length }]) => `${length} × ${text}`).join('\n'));
}
