import { Column, getTableColumns } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';

const asDriverGives: unknown = Reflect.get(Column.prototype, 'mapFromDriverValue');
/** Already parsed by the driver: a JSON string that looks like a number must not be parsed twice. */
const parsed: readonly string[] = ['json', 'jsonb'];

/**
 * Builds a row reader for hand-written statements that select all columns of a table. It returns them as drizzle would:
 * instants as Date and bigints as numbers. The row is modified in place and keeps whatever else the statement selected,
 * so a page of a list is read without copying.
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
