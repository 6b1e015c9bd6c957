import { Column, getTableColumns, is, SQL } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';

const asDriverGives: unknown = Reflect.get(Column.prototype, 'mapFromDriverValue');
/** Already parsed by the driver: a JSON string that looks like a number must not be parsed twice. */
const parsed: readonly string[] = ['json', 'jsonb'];

/** A row whose instants are text already. */
export type JsonRow<Row> = {
  [K in keyof Row]: Exclude<Row[K], Date> | (Date extends Row[K] ? string : never);
};

type Reader<Row> = (raw: Record<string, unknown>) => Row;

/**
 * Builds a row reader for hand-written statements that select all columns of a table. It returns them as drizzle would:
 * instants as Date and bigints as numbers. The row is modified in place and keeps whatever else the statement selected,
 * so a page of a list is read without copying.
 */
export function rowReader<T extends PgTable>(table: T): Reader<T['$inferSelect']> {
  return readerOf(table, (column) => (value) => column.mapFromDriverValue(value));
}

/**
 * The same for rows that only become JSON: their instants are what it writes of a Date, without one being made. A page of a
 * list would spend more on its dates than on all its other values.
 */
export function jsonRowReader<T extends PgTable>(table: T): Reader<JsonRow<T['$inferSelect']>> {
  return readerOf(table, (column) =>
    column.getSQLType().startsWith('timestamp')
      ? (value) => instantText(value as string)
      : (value) => column.mapFromDriverValue(value),
  );
}

function readerOf<Row>(
  table: PgTable,
  mapping: (column: Column) => (value: unknown) => unknown,
): Reader<Row> {
  const mapped = Object.entries<Column>(getTableColumns(table))
    .filter(([, column]) => isMapped(column))
    .map(([name, column]) => ({ name, map: mapping(column) }));
  return (raw) => {
    for (const { name, map } of mapped) {
      const value = raw[name];
      if (value !== null && value !== undefined) raw[name] = map(value);
    }
    return raw as Row;
  };
}

/**
 * The same for a drizzle select that is sent as a hand-written statement; its fields are flat. Only they are in the new row. drizzle
 * itself asks of each value in each row what kind of field it belongs to, which takes longer than to read, parse and answer it.
 */
export function selectionReader<Row>(fields: Record<string, unknown>): Reader<Row> {
  const read = Object.entries(fields).map(([key, field]) => ({ key, ...namedAndMapped(field) }));
  return (raw) => {
    const row: Record<string, unknown> = {};
    for (const { key, name, map } of read) {
      const value = raw[name];
      row[key] = value === null || map === undefined ? value : map(value);
    }
    return row as Row;
  };
}

function namedAndMapped(field: unknown): { name: string; map?: (value: unknown) => unknown } {
  if (is(field, Column)) {
    return {
      name: field.name,
      ...(isMapped(field) ? { map: (value) => field.mapFromDriverValue(value) } : {}),
    };
  }
  if (!is(field, SQL.Aliased)) throw new Error('a field of a listing is a column or has an alias');
  const { decoder } = field.sql as unknown as { decoder: { mapFromDriverValue(value: unknown): unknown } };
  return { name: field.fieldAlias, map: (value) => decoder.mapFromDriverValue(value) };
}

const isMapped = (column: Column): boolean =>
  Reflect.get(column, 'mapFromDriverValue') !== asDriverGives && !parsed.includes(column.getSQLType());

// As PostgreSQL writes milliseconds in a session whose zone is UTC, without the zeros at their end.
const inUtc = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,3})?\+00$/;

/** RFC 3339 in UTC of what PostgreSQL writes of an instant. */
export function instantText(text: string): string {
  if (!inUtc.test(text)) return new Date(text).toISOString();
  const fraction = text.slice(20, -3).padEnd(3, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}
