import { schema } from '@acp/db';
import { getTableColumns } from 'drizzle-orm';
import type { RunRow } from './types.ts';

const columns = Object.entries(getTableColumns(schema.heartbeat_runs));

/** A row as a hand-written statement gives it, instants and bigints still text, to what a drizzle query would give. */
export function runRow(raw: Record<string, unknown>): RunRow {
  const entries = columns.map(([name, column]) => {
    const value = raw[name];
    return [name, value === null || value === undefined ? null : column.mapFromDriverValue(value)] as const;
  });
  // The entries are the table's own columns, each mapped by its own type.
  return Object.fromEntries(entries) as RunRow;
}
