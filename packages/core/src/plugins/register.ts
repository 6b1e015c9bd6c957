import { schema, type Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { and, eq, ne, notInArray, sql } from 'drizzle-orm';
import { closeCursor, openCursor } from '../events/index.ts';
import { parseCron } from '../settings/index.ts';
import { pluginCursor } from './cursor.ts';
import type { CheckedManifest } from '@acp/contract';
import { manifestOf } from './manifest.ts';
import type { PluginRow } from './store.ts';

const { companies, plugin_jobs, plugins } = schema;

/**
 * Tools and webhooks belong to the running process; jobs and the event cursor outlive it, so that it catches up on what it missed.
 * @throws invalid for a malformed schedule, conflict for a tool or webhook path of another running plugin
 */
export async function registerManifest(tx: Tx, plugin: PluginRow, manifest: CheckedManifest): Promise<void> {
  // Serialised: if two plugins have the same tool, the second is rejected.
  await tx
    .select({ id: companies.id })
    .from(companies)
    .where(eq(companies.id, plugin.company_id))
    .for('no key update');
  await refuseTaken(tx, plugin, manifest);
  await registerJobs(tx, plugin.id, manifest);
  if (manifest.events.length > 0) await openCursor(tx, pluginCursor(plugin.id));
  else await closeCursor(tx, pluginCursor(plugin.id));
}

async function refuseTaken(tx: Tx, { id, company_id }: PluginRow, manifest: CheckedManifest): Promise<void> {
  const others = await tx
    .select({ slug: plugins.slug, state: plugins.state, manifest: plugins.manifest })
    .from(plugins)
    .where(and(eq(plugins.company_id, company_id), eq(plugins.state, 'running'), ne(plugins.id, id)));
  for (const other of others) {
    const { tools, webhooks } = manifestOf(other);
    const tool = manifest.tools.find(({ namespace, name }) =>
      tools.some((each) => each.namespace === namespace && each.name === name),
    );
    if (tool)
      throw conflict(`tool ${tool.namespace}:${tool.name} already belongs to the plugin ${other.slug}`);
    const path = manifest.webhooks.find((mine) => webhooks.some((theirs) => theirs.path === mine.path));
    if (path) throw conflict(`webhook path ${path.path} already belongs to the plugin ${other.slug}`);
  }
}

/** A tick missed while the plugin was down stays due; a changed schedule starts over. */
async function registerJobs(tx: Tx, plugin_id: string, { jobs }: CheckedManifest): Promise<void> {
  const names = jobs.map(({ name }) => name);
  await tx
    .delete(plugin_jobs)
    .where(
      and(
        eq(plugin_jobs.plugin_id, plugin_id),
        names.length === 0 ? undefined : notInArray(plugin_jobs.name, names),
      ),
    );
  if (jobs.length === 0) return;
  const now = await databaseNow(tx);
  const rows = jobs.map(({ name, schedule, config = null }) => ({
    plugin_id,
    name,
    schedule: parseCron(schedule, `schedule of job ${name}`).expression,
    config,
    next_run_at: nextRun(schedule, now),
  }));
  await tx
    .insert(plugin_jobs)
    .values(rows)
    .onConflictDoUpdate({
      target: [plugin_jobs.plugin_id, plugin_jobs.name],
      set: {
        config: sql`excluded.config`,
        schedule: sql`excluded.schedule`,
        next_run_at: sql`case when ${plugin_jobs.schedule} = excluded.schedule
          then coalesce(${plugin_jobs.next_run_at}, excluded.next_run_at) else excluded.next_run_at end`,
      },
    });
}

/** The next tick in UTC. @throws invalid */
export function nextRun(schedule: string, after: Date): Date {
  return parseCron(schedule, 'schedule').after(after).next().toDate();
}

export async function databaseNow(tx: Tx): Promise<Date> {
  const { rows } = await tx.execute<{ now: string }>(sql`select now()`);
  return new Date(rows[0]!.now);
}
