import { holdDayTotals, schema, type Tx } from '@acp/db';
import { getTableColumns, is, type SQL, sql } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import { deleteCompanyRow } from '../companies/index.ts';

/**
 * Every table with a column `company_id`, so that new tables are included automatically. Rows that reference these are deleted by
 * cascading foreign keys; the outbox contains nothing of a company that has been in the trash.
 */
const tables = Object.values(schema)
  .filter((each) => is(each, PgTable))
  .filter((table) => table !== schema.companies && 'company_id' in getTableColumns(table));

/**
 * Permanently deletes the company and everything in it. Files stay in the storage until the orphan sweep.
 * @returns the company's id: its trash entries were deleted with it
 */
export async function purgeCompany(tx: Tx, company_id: string): Promise<string[]> {
  await holdDayTotals(tx);
  const parts = tables.map(
    (table, index): SQL =>
      sql`${sql.identifier(`part_${index}`)} as (delete from ${table} where ${sql.identifier('company_id')} = ${company_id})`,
  );
  await tx.execute(sql`with ${sql.join(parts, sql`, `)} select`);
  await deleteCompanyRow(tx, company_id);
  return [company_id];
}
