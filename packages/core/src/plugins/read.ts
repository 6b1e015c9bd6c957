import type {
  PluginAuditEntry,
  PluginBound,
  PluginEvent,
  PluginHealth,
  PluginJob,
  PluginSandbox,
  PluginTool,
  PluginWebhook,
} from '@acp/contract';
import { type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { and, count, desc, eq, sql } from 'drizzle-orm';
import { listActivity } from '../activity/index.ts';
import { recentCrashes } from './holder.ts';
import { jobsOf } from './jobs.ts';
import { manifestOf } from './manifest.ts';
import { holdersOf, isHolding, registeredPlugins, toolName, webhookName } from './names.ts';
import { type PluginRow, presentPlugin } from './store.ts';

const { plugin_events, plugins } = schema;

const EVENTS = 50;
const MOST_EVENTS = 500;
const JOB_RUNS = 20;

/** The events log, newest first. */
export async function listPluginEvents(
  tx: Tx,
  { id }: PluginRow,
  { limit = EVENTS }: { limit?: number },
): Promise<PluginEvent[]> {
  const rows = await tx
    .select()
    .from(plugin_events)
    .where(eq(plugin_events.plugin_id, id))
    .orderBy(desc(plugin_events.created_at), desc(plugin_events.ordinal))
    .limit(Math.min(limit, MOST_EVENTS));
  return rows.map(({ ordinal: _ordinal, ...row }) => ({
    ...row,
    type: row.type as PluginEvent['type'],
    level: row.level as PluginEvent['level'],
    details: row.details as PluginEvent['details'],
  }));
}

/**
 * Approvals, denied attempts and transitions, including those of deleted plugins, newest first; at most 1,000 or 4 MB unless a
 * limit is given (decisions 10.7).
 */
export async function listPluginAudit(
  tx: Tx,
  company_id: string,
  query: PageRequest,
): Promise<Page<PluginAuditEntry>> {
  const page = await listActivity(tx, company_id, { ...query, entity_type: 'plugin' }, { unasked: null });
  return {
    ...page,
    items: page.items.map(({ entity_type: _type, entity_id, ...entry }) => ({
      ...entry,
      plugin_id: entity_id,
    })),
  };
}

export async function pluginHealth(tx: Tx, plugin: PluginRow): Promise<PluginHealth> {
  const shown = presentPlugin(plugin);
  const isRunning = shown.state === 'running';
  return {
    status: isRunning ? 'running' : 'not_running',
    state: shown.state,
    healthy: isRunning ? plugin.healthy : null,
    last_checked_at: isRunning ? plugin.checked_at : null,
    started_at: isRunning ? plugin.started_at : null,
    sandbox: shown.sandbox,
    bounds: isRunning ? (plugin.bounds as PluginBound[] | null) : null,
    recent_crashes: await recentCrashes(tx, plugin),
    next_start_at: plugin.wanted && !isRunning ? plugin.next_start_at : null,
    error: shown.error,
  };
}

/** Tools of a running plugin, in the order of its manifest. */
export function toolsOf(plugin: PluginRow): PluginTool[] {
  return manifestOf(plugin).tools.map(({ namespace, name, description, input_schema }) => ({
    plugin_id: plugin.id,
    tool: `${namespace}:${name}`,
    namespace,
    name,
    description,
    input_schema,
  }));
}

/**
 * One of its own tools, by its plain or its qualified name.
 * @throws conflict for a plain name that several have
 */
export function ownTool(plugin: PluginRow, word: string): PluginTool | undefined {
  const named = toolsOf(plugin).filter(({ tool, name }) => tool === word || name === word);
  if (named.length > 1) {
    const all = named.map(({ tool }) => tool).join(', ');
    throw conflict(`several tools have the name ${word}: call one of ${all}`);
  }
  return named[0];
}

/** Tools of all running plugins of the company: of several with the same name, that of its holder. */
export async function listPluginTools(tx: Tx, company_id: string): Promise<PluginTool[]> {
  const registered = await registeredPlugins(tx, company_id);
  const holders = holdersOf(registered);
  return registered.flatMap((plugin) =>
    toolsOf(plugin).filter((tool) => holders.get(toolName(tool)) === plugin),
  );
}

/** Whether it should run but doesn't: it was just started, is changing schedulers, or is waiting after a crash. */
export function isComing({ wanted, state }: Pick<PluginRow, 'wanted' | 'state'>): boolean {
  return wanted && state !== 'running';
}

/** Whether any plugin of the company is about to run: until then, its tools are unknown. */
export async function anyPluginStarting(tx: Tx, company_id: string): Promise<boolean> {
  const { rows } = await tx.execute(
    sql`select from plugins where company_id = ${company_id} and wanted and state <> 'running' limit 1`,
  );
  return rows.length > 0;
}

/** The running plugin that receives webhooks at this path, and the path as it declared it; none while it is being restarted. */
export async function webhookOwner(
  tx: Tx,
  company_id: string,
  path: string,
): Promise<{ plugin_id: string; path: string } | undefined> {
  const holder = holdersOf(await registeredPlugins(tx, company_id)).get(webhookName(path));
  if (holder?.state !== 'running') return undefined;
  const found = manifestOf(holder).webhooks.find((webhook) => webhook.path === path);
  return found && { plugin_id: holder.id, path: found.declared ?? found.path };
}

export function webhooksOf(plugin: PluginRow): PluginWebhook[] {
  return manifestOf(plugin).webhooks.map(({ path }) => ({
    path,
    url_path: `/api/companies/${plugin.company_id}/plugins/webhooks/${path}`,
  }));
}

/** The jobs that are registered: none of a plugin that should not run. */
export async function listPluginJobs(tx: Tx, plugin: PluginRow): Promise<PluginJob[]> {
  return isHolding(plugin) ? pluginJobs(tx, plugin) : [];
}

/** Those of the last process as well, with what came of them. */
export async function pluginJobs(tx: Tx, { id }: PluginRow): Promise<PluginJob[]> {
  const jobs = await jobsOf(tx, id);
  const { rows } = await tx.execute<JobRunRow>(sql`
    select r.job_name, r.id, r.scheduled_at, r.status, r.result, r.error, r.started_at, r.finished_at
    from plugin_jobs j cross join lateral (
      select * from plugin_job_runs r where r.plugin_id = j.plugin_id and r.job_name = j.name
      order by r.started_at desc, r.id desc limit ${JOB_RUNS}
    ) r where j.plugin_id = ${id} order by r.started_at desc, r.id desc`);
  return jobs.map(({ name, schedule, config, next_run_at }) => ({
    name,
    schedule,
    config: config as PluginJob['config'],
    next_run_at,
    runs: rows.filter(({ job_name }) => job_name === name).map(presentRun),
  }));
}

/** A row of a hand-written statement: timestamps are strings. */
type JobRunRow = {
  job_name: string;
  id: string;
  scheduled_at: string;
  status: string;
  result: unknown;
  error: string | null;
  started_at: string;
  finished_at: string | null;
};

function presentRun(row: JobRunRow): PluginJob['runs'][number] {
  return {
    id: row.id,
    scheduled_at: new Date(row.scheduled_at),
    status: row.status as PluginJob['runs'][number]['status'],
    result: row.result,
    error: row.error,
    started_at: new Date(row.started_at),
    finished_at: row.finished_at === null ? null : new Date(row.finished_at),
  };
}

/** Number of the instance's plugins with the same isolation. */
interface PluginWallsCount {
  sandbox: PluginSandbox | null;
  bounds: PluginBound[] | null;
  plugins: number;
}

/** Number of the instance's plugins by kind of sandbox and by what enforces its limits. */
export async function countPluginWalls(tx: Tx): Promise<PluginWallsCount[]> {
  const { sandbox, bounds } = plugins;
  const rows = await tx
    .select({ sandbox, bounds, plugins: count() })
    .from(plugins)
    .where(and(eq(plugins.wanted, true), eq(plugins.state, 'running')))
    .groupBy(sandbox, bounds)
    .orderBy(sandbox, bounds);
  return rows.map((row) => ({
    ...row,
    sandbox: row.sandbox as PluginSandbox | null,
    bounds: row.bounds as PluginBound[] | null,
  }));
}
