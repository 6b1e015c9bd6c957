import { getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';

/**
 * What follows `insert into <table>`: columns and rows, any number of them by one parameter, of the types that the table
 * has. Columns that the first row does not name get their defaults.
 */
export function rowsOf(table: PgTable, rows: readonly object[]): SQL {
  const known = getTableColumns(table);
  const names = Object.keys(rows[0] ?? { id: null }).filter((name) => Object.hasOwn(known, name));
  const columns = sql.join(
    names.map((name) => sql.identifier(name)),
    sql`, `,
  );
  const type = sql.identifier(getTableName(table));
  return sql`(${columns}) select ${columns} from jsonb_populate_recordset(null::${type}, ${JSON.stringify(rows)}::jsonb)`;
}
