import { schema, type Tx } from '@acp/db';
import { and, eq, notInArray, sql } from 'drizzle-orm';
import { closeCursor, openCursor } from '../events/index.ts';
import { parseCron } from '../settings/index.ts';
import { pluginCursor } from './cursor.ts';
import type { CheckedManifest } from '@acp/contract';
import type { PluginRow } from './store.ts';

const { plugin_jobs } = schema;

/**
 * Registers what outlives the process, so that its successor catches up on what it missed: jobs and the event cursor.
 * @throws invalid for a malformed schedule
 */
export async function registerManifest(tx: Tx, plugin: PluginRow, manifest: CheckedManifest): Promise<void> {
  await registerJobs(tx, plugin.id, manifest);
  if (manifest.events.length > 0) await openCursor(tx, pluginCursor(plugin.id));
  else await closeCursor(tx, pluginCursor(plugin.id));
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
