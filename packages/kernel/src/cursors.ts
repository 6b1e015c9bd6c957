/**
 * Opaque list cursors: the sort values of a page's last row. They are not signed, since they select nothing that the list
 * would not show anyway; instead every value is checked before it reaches a statement, and a forged cursor is a 400.
 */
import { invalid } from './errors.ts';
import { isUuid } from './ids.ts';
import { isTimestamp } from './time.ts';

export type CursorValue = string | number | null;

/**
 * The type of one cursor value; with `?` it may be null. `integer` is PostgreSQL's, of four bytes. `any` leaves the check to the
 * caller.
 */
export type CursorField =
  | 'any'
  | 'text'
  | 'integer'
  | 'uuid'
  | 'timestamp'
  | 'text?'
  | 'integer?'
  | 'timestamp?';

// Longer than any sort key we issue, shorter than anything expensive to parse.
const maxCursorLength = 4096;

const checks: Record<string, (value: CursorValue) => boolean> = {
  any: () => true,
  text: (value) => typeof value === 'string',
  integer: (value) => typeof value === 'number' && (value | 0) === value,
  uuid: isUuid,
  timestamp: isTimestamp,
};

export function encodeCursor(values: readonly CursorValue[]): string {
  return Buffer.from(JSON.stringify(values), 'utf8').toString('base64url');
}

/**
 * Decodes a cursor. `shape` is the number of values, or a list of types that are checked too: `['timestamp', 'uuid']`.
 * Prefer the list wherever a value meets a typed column; otherwise a forged cursor becomes a database error.
 * Throws invalid('invalid cursor').
 */
export function decodeCursor(cursor: string, shape: number | readonly CursorField[]): CursorValue[] {
  const fields = typeof shape === 'number' ? Array.from({ length: shape }, (): CursorField => 'any') : shape;
  const values = parse(cursor);
  if (values?.length !== fields.length) throw invalid('invalid cursor');
  return fields.map((field, index) => {
    const value = values[index];
    if (!isCursorValue(value) || !fits(field, value)) throw invalid('invalid cursor');
    return value;
  });
}

function parse(cursor: string): unknown[] | null {
  if (cursor.length > maxCursorLength || !/^[\w-]+$/.test(cursor)) return null;
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(values) ? values : null;
  } catch {
    return null;
  }
}

function isCursorValue(value: unknown): value is CursorValue {
  // PostgreSQL text can't contain NUL, and JSON's 1e999 parses to Infinity, which no column accepts.
  if (typeof value === 'string') return !value.includes('\0');
  return value === null || Number.isFinite(value);
}

function fits(field: CursorField, value: CursorValue): boolean {
  if (value === null) return field === 'any' || field.endsWith('?');
  return checks[field.replace('?', '')]?.(value) ?? false;
}
