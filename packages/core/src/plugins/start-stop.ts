import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, said, saidValue, stated } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { basename } from 'node:path';
import { failLostJobRuns } from './jobs.ts';
import { isHolding, noteReleased, noteTaken } from './names.ts';
import { lockPlugin, type PluginRow } from './store.ts';
import { moveTo, recordPluginChange, notifyHosts } from './transitions.ts';

const { plugins } = schema;

export const HASH_CHANGED = stated('plugin binary hash changed since approval; reverted to pending');

/** The start rules that don't require reading the file (specification, Start rules). @throws conflict */
export function assertApproved({ approval_state }: PluginRow): void {
  if (approval_state === 'banned') throw conflict('plugin is banned');
  if (approval_state !== 'allowed') throw conflict('plugin is pending approval');
}

/** @param allowlist entries with a slash are paths, others are file names. @throws conflict */
export function assertAllowlisted(binary_path: string, allowlist: readonly string[]): void {
  if (allowlist.length === 0) return;
  const listed = allowlist.some((entry) =>
    entry.includes('/') ? entry === binary_path : entry === basename(binary_path),
  );
  if (!listed) throw conflict('plugin binary is not allowlisted');
}

/** Checks that the plugin's state permits a start or a restart. @throws conflict */
export function assertMayStart({ enabled, state, wanted }: PluginRow, how: 'start' | 'restart'): void {
  if (!enabled) throw conflict('plugin is disabled');
  if (how === 'restart') {
    if (state !== 'running' && state !== 'errored')
      throw conflict(said`plugin is ${saidValue(state)}: start it`);
    return;
  }
  if (state === 'errored') throw conflict('plugin is errored: restart it');
  if (wanted || (state !== 'installed' && state !== 'stopped')) throw conflict('plugin is already running');
}

/** Has the schedulers start it: the first to claim it does. @returns the current fence; the new process will have a higher one */
export async function requestPluginStart(tx: Tx, actor: Actor, id: string): Promise<number> {
  const plugin = await lockPlugin(tx, id);
  assertApproved(plugin);
  if (!plugin.enabled) throw conflict('plugin is disabled');
  await tx
    .update(plugins)
    .set({ wanted: true, wanted_at: sql`now()`, next_start_at: null, error: null })
    .where(eq(plugins.id, id));
  if (!isHolding(plugin)) await noteTaken(tx, plugin);
  await recordPluginChange(tx, actor, { ...plugin, error: null }, 'plugin.start_requested');
  notifyHosts(tx, id);
  return plugin.fence;
}

/**
 * Has its owner stop the process. Without an owner it counts as stopped immediately.
 * @throws conflict if it neither runs nor waits for a restart
 */
export async function requestPluginStop(tx: Tx, actor: Actor, id: string): Promise<void> {
  const plugin = await lockPlugin(tx, id);
  if (!plugin.wanted && plugin.held_by === null && !isUp(plugin)) throw conflict('plugin is not running');
  await tx.update(plugins).set({ wanted: false, next_start_at: null }).where(eq(plugins.id, id));
  await recordPluginChange(tx, actor, plugin, 'plugin.stop_requested');
  notifyHosts(tx, id);
}

/** Marks a plugin as stopped if it should not run and has no owner (any more): that was lost, or it was only waiting. */
export async function settleUnowned(tx: Tx, actor: Actor, id: string): Promise<PluginRow> {
  const plugin = await lockPlugin(tx, id);
  if (plugin.wanted) return plugin;
  const { rows } = await tx.execute(
    sql`select from plugins where id = ${id} and (held_by is null or lease_until < now())`,
  );
  if (rows.length === 0) return plugin;
  await failLostJobRuns(tx, id, plugin.fence);
  return stopped(tx, actor, plugin, 'stopped');
}

/** Records that a stop has taken effect. */
export async function stopped(tx: Tx, actor: Actor, plugin: PluginRow, message: string): Promise<PluginRow> {
  const set = { held_by: null, lease_until: null, healthy: null, manifest: null, started_at: null };
  let row = plugin;
  const mayStop = isUp(plugin) || plugin.state === 'errored';
  if (mayStop && !(plugin.state === 'errored' && plugin.approval_state === 'banned'))
    row = await moveTo(tx, actor, plugin, 'stopped', { message, set: { ...set, error: null } });
  else {
    const [settled] = await tx.update(plugins).set(set).where(eq(plugins.id, plugin.id)).returning();
    row = settled!;
  }
  if (!row.enabled && row.state !== 'disabled')
    row = await moveTo(tx, actor, row, 'disabled', { message: 'disabled' });
  await noteReleased(tx, row);
  await tx.execute(sql`update plugin_jobs set next_run_at = null where plugin_id = ${plugin.id}`);
  return row;
}

const isUp = ({ state }: PluginRow) => state === 'running' || state === 'ready';
