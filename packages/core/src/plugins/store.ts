import type { Plugin, PluginSandbox, PluginState, PluginSummary } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { isUuid, notFound } from '@acp/kernel';
import { and, eq, getTableColumns, inArray, isNull, sql } from 'drizzle-orm';

const { companies, plugins } = schema;

export type PluginRow = typeof plugins.$inferSelect;

/** The scope loader's way to a plugin. */
export async function findPlugin(tx: Tx, id: string): Promise<PluginRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select(getTableColumns(plugins))
    .from(plugins)
    .innerJoin(companies, and(eq(companies.id, plugins.company_id), isNull(companies.deleted_at)))
    .where(eq(plugins.id, id));
  return row;
}

/**
 * Those that are there, in the trash with their company or not, each with the fence of its holder, or the next one's where
 * nobody holds it: what has a lower one is left over.
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

/** As it is now, locked until the end of the transaction. @throws notFound */
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

/** What events carry: no configuration. */
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
