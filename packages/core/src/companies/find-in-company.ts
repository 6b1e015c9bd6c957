import { schema, type Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, eq, getTableColumns, type InferSelectModel, isNull, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';

const { companies } = schema;

/** Join condition: the row's company is not in the trash. */
export const ofLiveCompany = (company_id: PgColumn): SQL =>
  and(eq(companies.id, company_id), isNull(companies.deleted_at))!;

/** Finds a row by its id, for a scope; also undefined if its company is in the trash. */
export async function findInLiveCompany<T extends PgTable & { id: PgColumn; company_id: PgColumn }>(
  tx: Tx,
  table: T,
  id: string,
  where?: SQL,
): Promise<InferSelectModel<T> | undefined> {
  if (!isUuid(id)) return undefined;
  const plain: PgTable = table;
  const [row] = await tx
    .select(getTableColumns(plain))
    .from(plain)
    .innerJoin(companies, ofLiveCompany(table.company_id))
    .where(and(eq(table.id, id), where));
  return row as InferSelectModel<T> | undefined;
}
