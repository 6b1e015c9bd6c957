import { Column, getTableColumns } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';

const asDriverGives: unknown = Reflect.get(Column.prototype, 'mapFromDriverValue');
/** Parsed by the driver: a JSON text that looks like a number must not be parsed again. */
const parsed: readonly string[] = ['json', 'jsonb'];

/**
 * Makes the reader of a table's rows in hand-written statements that select all its columns: it gives them as drizzle
 * would have, instants as Date and bigints as numbers. The row is the same object, changed, and keeps what else the
 * statement selected: a page of a list is read without a copy.
 */
export function rowReader<T extends PgTable>(table: T): (raw: Record<string, unknown>) => T['$inferSelect'] {
  const mapped = Object.entries<Column>(getTableColumns(table)).filter(
    ([, column]) =>
      Reflect.get(column, 'mapFromDriverValue') !== asDriverGives && !parsed.includes(column.getSQLType()),
  );
  return (raw) => {
    for (const [name, column] of mapped) {
      const value = raw[name];
      if (value !== null && value !== undefined) raw[name] = column.mapFromDriverValue(value);
    }
    return raw;
  };
}
