import type { Plugin, PluginSandbox, PluginState, PluginSummary } from '@acp/contract';
import { rowReader, schema, type Tx } from '@acp/db';
import { Batches, isUuid, notFound } from '@acp/kernel';
import { eq, inArray, sql } from 'drizzle-orm';

const { plugins } = schema;
const readPlugin = rowReader(plugins);

export type PluginRow = typeof plugins.$inferSelect;

/** Finds a plugin for the scope loader. */
export async function findPlugin(tx: Tx, id: string): Promise<PluginRow | undefined> {
  if (!isUuid(id)) return undefined;
  const batches = lookups.get(tx) ?? new Batches({ most: 100, perform: async (ids) => findPlugins(tx, ids) });
  lookups.set(tx, batches);
  return batches.add(id);
}

/** Called before each tool call, and these come in bursts, so concurrent lookups are batched into one statement. */
const lookups = new WeakMap<Tx, Batches<string, PluginRow | undefined>>();

async function findPlugins(tx: Tx, ids: readonly string[]): Promise<(PluginRow | undefined)[]> {
  const { rows } = await tx.execute(sql`
    select p.* from plugins p join companies c on c.id = p.company_id and c.deleted_at is null
    where p.id = any(${sql.param(ids)}::uuid[])`);
  const found = new Map(rows.map(readPlugin).map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}

/**
 * The plugins that exist, whether or not their company is in the trash, each with its owner's fence, or the next one if it has no
 * owner: processes with a lower fence are leftovers.
 */
export async function existingPlugins(tx: Tx, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx
    .select({
      id: plugins.id,
      fence: sql<string>`fence + case when held_by is null or lease_until < now() then 1 else 0 end`,
    })
    .from(plugins)
    .where(inArray(plugins.id, [...ids]));
  return new Map(rows.map(({ id, fence }) => [id, Number(fence)]));
}

/** The current row, locked until the end of the transaction. @throws notFound */
export async function lockPlugin(tx: Tx, id: string): Promise<PluginRow> {
  const [row] = await tx.select().from(plugins).where(eq(plugins.id, id)).for('no key update');
  if (row === undefined) throw notFound();
  return row;
}

export function presentPlugin(row: PluginRow): Plugin {
  return {
    ...summarizePlugin(row),
    description: row.description,
    config: row.config as Plugin['config'],
  };
}

/** The content of events: no configuration. */
export function summarizePlugin(row: PluginRow): PluginSummary {
  return {
    id: row.id,
    company_id: row.company_id,
    name: row.name,
    slug: row.slug,
    version: row.version,
    binary_path: row.binary_path,
    binary_hash: row.binary_hash,
    enabled: row.enabled,
    state: row.state as PluginState,
    approval_state: row.approval_state as Plugin['approval_state'],
    approved_binary_hash: row.approved_binary_hash,
    host_capabilities: row.host_capabilities as string[],
    error: row.error,
    sandbox: row.sandbox as PluginSandbox | null,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
