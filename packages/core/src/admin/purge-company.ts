import { schema, type Tx } from '@acp/db';
import { getTableColumns, is, type SQL, sql } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import { removeCompany } from '../companies/index.ts';

/**
 * Every table whose rows name their company: a table that is added tomorrow is in it by itself. What hangs on these
 * rows by foreign keys goes with them; the outbox is empty of a company that has lain in the trash.
 */
const tables = Object.values(schema)
  .filter((each) => is(each, PgTable))
  .filter((table) => table !== schema.companies && 'company_id' in getTableColumns(table));

/**
 * The company and everything in it, for good. Files lie in the storage until the orphan sweep.
 * @returns the company's id: its entries in the trash are gone with the rest
 */
export async function purgeCompany(tx: Tx, company_id: string): Promise<string[]> {
  const parts = tables.map(
    (table, index): SQL =>
      sql`${sql.identifier(`part_${index}`)} as (delete from ${table} where ${sql.identifier('company_id')} = ${company_id})`,
  );
  await tx.execute(sql`with ${sql.join(parts, sql`, `)} select`);
  await removeCompany(tx, company_id);
  return [company_id];
}
