import { schema, type Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, eq, getTableColumns, isNull } from 'drizzle-orm';

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
