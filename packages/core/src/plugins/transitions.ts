import type { Actor, PluginApprovalState, PluginState } from '@acp/contract';
import { schema, signal, type Tx } from '@acp/db';
import { eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { type PluginRow, summarizePlugin } from './store.ts';

const { plugin_events, plugins } = schema;

/**
 * Every edge of the lifecycle (docs/states/plugin.md). `ready` is momentary: the process has sent its manifest. A failed start, a
 * crash, and a lost scheduler lead to `errored`; a plugin being handed over is `stopped` until it runs elsewhere.
 */
const lifecycleEdges: Readonly<Record<PluginState, readonly PluginState[]>> = {
  installed: ['ready', 'errored', 'disabled', 'uninstalled'],
  ready: ['running', 'errored', 'stopped', 'uninstalled'],
  running: ['stopped', 'errored', 'uninstalled'],
  stopped: ['ready', 'errored', 'disabled', 'uninstalled'],
  errored: ['ready', 'stopped', 'disabled', 'uninstalled'],
  disabled: ['stopped', 'uninstalled'],
  uninstalled: [],
};

interface Transition {
  /** Text for the events log. */
  message: string;
  details?: Record<string, unknown>;
  /** Other columns to change with it. */
  set?: Partial<Omit<typeof plugins.$inferInsert, 'id' | 'company_id'>>;
}

/**
 * Moves a locked plugin along one edge: changes row, events log and audit, and sends a live event.
 * @throws Error for an edge that does not exist
 */
export async function moveTo(
  tx: Tx,
  actor: Actor,
  plugin: PluginRow,
  to: PluginState,
  { message, details = {}, set = {} }: Transition,
): Promise<PluginRow> {
  const from = plugin.state as PluginState;
  if (!lifecycleEdges[from].includes(to)) throw new Error(`a plugin cannot go from ${from} to ${to}`);
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
  return row!;
}

/** The same for the approval, which may change from any state to any other. */
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

/** Writes the audit entry and sends the live event. */
export async function recordPluginChange(
  tx: Tx,
  actor: Actor,
  plugin: PluginRow,
  action: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  // What it does or should do decides which tools the company has.
  signal(tx, 'tools', plugin.company_id);
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

/** Notifies the schedulers after the commit. */
export function notifyHosts(tx: Tx, plugin_id: string): void {
  signal(tx, 'plugins', plugin_id);
}
