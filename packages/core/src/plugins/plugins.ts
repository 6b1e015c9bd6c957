import {
  type Actor,
  type CreatePlugin,
  defaultCapabilities,
  type Plugin,
  pluginLease,
  type PluginSummary,
  type UpdatePlugin,
} from '@acp/contract';
import {
  byCreation,
  containing,
  isUniqueViolation,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  signal,
  type Tx,
} from '@acp/db';
import { conflict, notFound } from '@acp/kernel';
import { refuseLeased } from '@acp/queue';
import { and, eq, getTableColumns, sql } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';
import { closeCursor } from '../events/index.ts';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { pluginCursor } from './cursor.ts';
import { isHolding, noteReleased } from './names.ts';
import { lockPlugin, type PluginRow, presentPlugin, summarizePlugin } from './store.ts';
import { moveTo, recordPluginChange, notifyHosts } from './transitions.ts';

const { companies, plugins, plugin_events } = schema;

export async function listPlugins(tx: Tx, company_id: string, query: SearchRequest): Promise<Page<Plugin>> {
  const page = newestFirst(plugins.created_at, plugins.id, query, null);
  const rows = tx
    .select()
    .from(plugins)
    .where(
      and(
        eq(plugins.company_id, company_id),
        containing(query.q, [plugins.name, plugins.slug, plugins.description]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentPlugin);
}

/** Plugins of all companies outside of the trash, 50 per page. */
export async function listInstancePlugins(tx: Tx, query: SearchRequest): Promise<Page<PluginSummary>> {
  const page = newestFirst(plugins.created_at, plugins.id, query, 50);
  const rows = tx
    .select(getTableColumns(plugins))
    .from(plugins)
    .innerJoin(companies, ofLiveCompany(plugins.company_id))
    .where(and(containing(query.q, [plugins.name, plugins.slug, plugins.description]), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, summarizePlugin);
}

/** Registers a plugin, which can't run before it is allowed. @throws conflict for a taken slug, and at 100 plugins */
export async function createPlugin(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreatePlugin,
): Promise<Plugin> {
  await assertRoom(tx, 'plugins', company_id);
  const { name, slug, description, version, binary_path, binary_hash, config } = input;
  const values = { name, slug, description, version, binary_path, binary_hash, config };
  try {
    const [row] = await tx
      .insert(plugins)
      .values({ ...values, company_id, host_capabilities: [...defaultCapabilities] })
      .returning();
    await tx.insert(plugin_events).values({
      plugin_id: row!.id,
      type: 'lifecycle',
      level: 'info',
      message: 'registered',
      to_state: 'installed',
      details: {},
    });
    await recordPluginChange(tx, actor, row!, 'plugin.installed', { binary_path });
    return presentPlugin(row!);
  } catch (err) {
    if (isUniqueViolation(err, 'plugins_slug')) throw conflict('a plugin already has this slug');
    throw err;
  }
}

/** Absent fields stay unchanged. A running plugin that gets disabled is first stopped by its owner. */
export async function updatePlugin(
  tx: Tx,
  actor: Actor,
  id: string,
  { host_capabilities, enabled, ...input }: UpdatePlugin,
): Promise<PluginRow> {
  const before = await lockPlugin(tx, id);
  const [row] = await tx
    .update(plugins)
    .set({ ...input, host_capabilities, updated_at: sql`now()` })
    .where(eq(plugins.id, id))
    .returning();
  const fields = Object.keys({ ...input, ...(host_capabilities && { host_capabilities }) });
  if (fields.length > 0)
    await recordPluginChange(tx, actor, row!, 'plugin.updated', {
      fields,
      ...(host_capabilities && { host_capabilities, before: before.host_capabilities }),
    });
  if (enabled === undefined || enabled === before.enabled) return row!;
  return enabled ? enable(tx, actor, row!) : disable(tx, actor, row!);
}

async function enable(tx: Tx, actor: Actor, plugin: PluginRow): Promise<PluginRow> {
  const set = { enabled: true };
  if (plugin.state === 'disabled') return moveTo(tx, actor, plugin, 'stopped', { message: 'enabled', set });
  const [row] = await tx.update(plugins).set(set).where(eq(plugins.id, plugin.id)).returning();
  return row!;
}

async function disable(tx: Tx, actor: Actor, plugin: PluginRow): Promise<PluginRow> {
  const set = { enabled: false, wanted: false, next_start_at: null };
  notifyHosts(tx, plugin.id);
  if (plugin.held_by === null && !['ready', 'running'].includes(plugin.state)) {
    const disabled = await moveTo(tx, actor, plugin, 'disabled', { message: 'disabled', set });
    if (isHolding(plugin)) await noteReleased(tx, disabled);
    return disabled;
  }
  const [row] = await tx.update(plugins).set(set).where(eq(plugins.id, plugin.id)).returning();
  await recordPluginChange(tx, actor, row!, 'plugin.updated', { fields: ['enabled'] });
  return row!;
}

/** Deletes it permanently with all its data except the audit. Its owner notices and stops the process. */
export async function deletePlugin(tx: Tx, actor: Actor, id: string): Promise<void> {
  const gone = await tx.delete(plugins).where(eq(plugins.id, id)).returning();
  const [plugin] = gone;
  if (plugin === undefined) throw notFound();
  await closeCursor(tx, pluginCursor(id));
  notifyHosts(tx, id);
  signal(tx, 'tools', plugin.company_id);
  if (isHolding(plugin)) await noteReleased(tx, plugin);
  await refuseLeased(tx, pluginLease({ plugin_id: id }), notFound());
  await recordChanges(tx, actor, [
    {
      company_id: plugin.company_id,
      action: 'plugin.uninstalled',
      entity_type: 'plugin',
      entity_id: id,
      details: { slug: plugin.slug, from: plugin.state },
      event: { type: 'plugin_state', data: summarizePlugin({ ...plugin, state: 'uninstalled' }) },
    },
  ]);
}
