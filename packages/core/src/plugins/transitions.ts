import type { Actor, PluginApprovalState, PluginState } from '@acp/contract';
import { schema, signal, type Tx } from '@acp/db';
import { eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { type PluginRow, summarizePlugin } from './store.ts';

const { plugin_events, plugins } = schema;

/**
 * Every edge of the lifecycle (docs/states/plugin.md). `ready` lasts for a moment only: the process has sent its manifest. A start
 * that fails, a crash, and a lost scheduler lead to `errored`; what is handed over is `stopped` until it runs elsewhere.
 */
export const lifecycleEdges: Readonly<Record<PluginState, readonly PluginState[]>> = {
  installed: ['ready', 'errored', 'disabled', 'uninstalled'],
  ready: ['running', 'errored', 'stopped', 'uninstalled'],
  running: ['stopped', 'errored', 'uninstalled'],
  stopped: ['ready', 'errored', 'disabled', 'uninstalled'],
  errored: ['ready', 'stopped', 'disabled', 'uninstalled'],
  disabled: ['stopped', 'uninstalled'],
  uninstalled: [],
};

export interface Transition {
  /** For the events log. */
  message: string;
  details?: Record<string, unknown>;
  /** What else changes with it. */
  set?: Partial<Omit<typeof plugins.$inferInsert, 'id' | 'company_id'>>;
}

/**
 * Moves a locked plugin along one edge: row, events log, audit and live event together.
 * @throws Error for an edge that is none
 */
export async function moveTo(
  tx: Tx,
  actor: Actor,
  plugin: PluginRow,
  to: PluginState,
  { message, details = {}, set = {} }: Transition,
): Promise<PluginRow> {
  const from = plugin.state as PluginState;
  if (!lifecycleEdges[from].includes(to)) throw new Error(`a plugin goes not from ${from} to ${to}`);
  const [row] = await tx
    .update(plugins)
    .set({ ...set, state: to, updated_at: sql`now()` })
    .where(eq(plugins.id, plugin.id))
    .returning();
  const level = to === 'errored' ? 'error' : 'info';
  await tx.insert(plugin_events).values({
    plugin_id: plugin.id,
    type: 'lifecycle',
    level,
    message,
    from_state: from,
    to_state: to,
    details,
  });
  await recordPluginChange(tx, actor, row!, `plugin.${to}`, { from, ...details });
  if (from === 'running' || to === 'running') signal(tx, 'tools', plugin.company_id);
  return row!;
}

/** The same for the approval; any state may be left for any other. */
export async function decide(
  tx: Tx,
  actor: Actor,
  plugin: PluginRow,
  to: PluginApprovalState,
  { message, details = {}, set = {} }: Transition,
  action: string,
): Promise<PluginRow> {
  const [row] = await tx
    .update(plugins)
    .set({ ...set, approval_state: to, updated_at: sql`now()` })
    .where(eq(plugins.id, plugin.id))
    .returning();
  await tx.insert(plugin_events).values({
    plugin_id: plugin.id,
    type: 'approval',
    level: to === 'allowed' ? 'info' : 'warn',
    message,
    from_state: plugin.approval_state,
    to_state: to,
    details,
  });
  await recordPluginChange(tx, actor, row!, action, { from: plugin.approval_state, ...details });
  return row!;
}

/** The audit entry, and the news for those who look at it. */
export async function recordPluginChange(
  tx: Tx,
  actor: Actor,
  plugin: PluginRow,
  action: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  await recordChanges(tx, actor, [
    {
      company_id: plugin.company_id,
      action,
      entity_type: 'plugin',
      entity_id: plugin.id,
      details: { slug: plugin.slug, ...details },
      event: { type: 'plugin_state', data: summarizePlugin(plugin) },
    },
  ]);
}

/** Has the schedulers look at it, after the commit. */
export function notifyHosts(tx: Tx, plugin_id: string): void {
  signal(tx, 'plugins', plugin_id);
}
