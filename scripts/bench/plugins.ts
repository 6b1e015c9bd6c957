/** (h) Plugin tools through both tiers, and events delivered to a plugin. */
import path from 'node:path';
import { recordChanges } from '@acp/core';
import { transaction } from '@acp/db';
import { actors, cloneDatabase, createIssue, type TestDatabase, waitFor } from '@acp/testkit';
import { load } from './load.ts';
import type { BenchOptions, Report } from './report.ts';
import { createScene, type Scene } from './scene.ts';
import { startService, temporaryFolder } from './service.ts';
import { percentile } from './statistics.ts';

const PLUGINS = 16;
const CALLERS = 32;
const BINARY = path.join(import.meta.dirname, 'echo-plugin.mjs');

interface Stage {
  database: TestDatabase;
  scene: Scene;
  url: string;
  plugin_ids: string[];
}

export async function benchPlugins(report: Report, options: BenchOptions): Promise<void> {
  report.section('(h) plugins');
  const database = await cloneDatabase('bench_plugins');
  void database.notifier;
  const scene = await createScene(database, { agents: 1, issues: 1 });
  const settings = { DATABASE_URL: database.url, SERVICE_HOME: temporaryFolder() };
  const scheduler = await startService({ ...settings, SERVICE_ROLE: 'scheduler' });
  const web = await startService({ ...settings, SERVICE_ROLE: 'web' });
  try {
    const stage = { database, scene, url: web.url, plugin_ids: [] as string[] };
    for (let n = 0; n < PLUGINS; n += 1) stage.plugin_ids.push(await startPlugin(stage, `echo${n}`));
    const sandbox = await sandboxOf(stage);
    await benchCalls(report, stage, {
      sandbox,
      calls: options.smoke ? 20 : 400,
      seconds: options.smoke ? 1 : 6,
    });
    await benchEvents(report, stage, { sandbox, events: options.smoke ? 200 : 3000 });
  } finally {
    await Promise.all([web.stop(), scheduler.stop()]);
    await database.close();
  }
}

async function call<T>(
  { url, scene }: Omit<Stage, 'plugin_ids'>,
  target: string,
  body: object = {},
): Promise<T> {
  const response = await fetch(url + target, {
    method: 'POST',
    headers: { authorization: `Bearer ${scene.board_key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${target} answered ${response.status}: ${await response.text()}`);
  return response.json() as Promise<T>;
}

async function startPlugin(stage: Stage, namespace: string): Promise<string> {
  const { id } = await call<{ id: string }>(stage, `/api/companies/${stage.scene.company_id}/plugins`, {
    name: namespace,
    slug: namespace,
    binary_path: BINARY,
    config: { namespace },
  });
  await call(stage, `/api/plugins/${id}/allow`);
  await call(stage, `/api/plugins/${id}/start`);
  return id;
}

async function sandboxOf({ database, plugin_ids: [id] }: Stage): Promise<string> {
  const { rows } = await database.database.pool.query<{ sandbox: string }>(
    'select sandbox from plugins where id = $1',
    [id],
  );
  return rows[0]?.sandbox ?? 'unknown';
}

async function benchCalls(
  report: Report,
  stage: Stage,
  { sandbox, calls, seconds }: { sandbox: string; calls: number; seconds: number },
): Promise<void> {
  const echo = async (n: number) =>
    call(stage, `/api/plugins/${stage.plugin_ids[n % PLUGINS]}/tools/invoke`, { tool: 'echo', input: { n } });
  const took: number[] = [];
  for (let n = 0; n < calls; n += 1) {
    const begun = performance.now();
    await echo(n);
    took.push(performance.now() - begun);
  }
  const tiers = `web and scheduler as a process each, HTTP included; sandbox: ${sandbox}`;
  report.add({
    name: 'a tool call, p50',
    value: percentile(took, 50),
    unit: 'ms',
    aim: { at_most: 15 },
    conditions: `${took.length} calls one after the other, ${tiers}; p95 ${percentile(took, 95).toFixed(1)} ms`,
  });
  const requests = stage.plugin_ids.map((id, n) => ({
    method: 'POST' as const,
    path: `/api/plugins/${id}/tools/invoke`,
    body: JSON.stringify({ tool: 'echo', input: { n } }),
  }));
  const rate = await load(stage.url, stage.scene.board_key, requests, seconds, CALLERS);
  report.add({
    name: 'tool calls a second',
    value: rate,
    unit: '/s',
    aim: { at_least: 1000 },
    conditions: `${CALLERS} callers, ${PLUGINS} plugins, ${tiers}`,
  });
}

/** Events are queued while the plugin is stopped, so that only the delivery is measured, one event after the other. */
async function benchEvents(
  report: Report,
  stage: Stage,
  { sandbox, events }: { sandbox: string; events: number },
): Promise<void> {
  const { database, scene, plugin_ids } = stage;
  const [id = '', ...others] = plugin_ids;
  for (const other of [id, ...others]) await call(stage, `/api/plugins/${other}/stop`);
  const issue = await createIssue(database.database.db, { id: scene.company_id }, {});
  const change = {
    company_id: scene.company_id,
    entity_type: 'issue',
    entity_id: issue.id,
    event: { type: 'issue_updated', data: { ...issue, status: 'todo', priority: 'medium' } },
  } as const;
  await transaction(database.database, async (tx) =>
    recordChanges(
      tx,
      actors.system,
      Array.from({ length: events }, () => change),
    ),
  );
  const behind = async (): Promise<number> => {
    const { rows } = await database.database.pool.query<{ n: number }>(
      `select (select count(*)::int from events e where e.company_id = $2 and e.type = 'issue_updated' and e.seq > c.seq) as n
       from event_cursors c where c.consumer = 'plugins' and c.name = $1`,
      [id, scene.company_id],
    );
    return rows[0]?.n ?? 0;
  };
  await waitFor(async () => (await behind()) >= events, { what: 'the events to be numbered' });
  await call(stage, `/api/plugins/${id}/start`);
  await waitFor(async () => (await behind()) === 0, { what: 'the last event', timeout_ms: 120_000 });
  const { rows } = await database.database.pool.query<{ seconds: number }>(
    `select extract(epoch from c.updated_at - p.started_at)::float8 as seconds
     from plugins p join event_cursors c on c.consumer = 'plugins' and c.name = p.id::text where p.id = $1`,
    [id],
  );
  report.add({
    name: 'events brought to one plugin, a second',
    value: events / (rows[0]?.seconds ?? Number.NaN),
    unit: '/s',
    conditions: `${events} events that waited, each sent when the one before was handled; sandbox: ${sandbox}`,
  });
}
