import { getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';

/**
 * The part after `insert into <table>`: columns and any number of rows in a single parameter, typed as in the table.
 * Columns missing from the first row get their defaults.
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
