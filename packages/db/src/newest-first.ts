/** List pages keyed by (instant, id): a position stays valid whatever was added in the meantime. */
import { decodeCursor, encodeCursor } from '@acp/kernel';
import { asc, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { type Listing, readWithinBytes } from './page-bytes.ts';
import type { Tx } from './tx.ts';

export interface PageRequest {
  limit?: number;
  cursor?: string;
}

export interface Page<T> {
  items: T[];
  /** Null on the last page. */
  next_cursor: string | null;
}

interface PagePlan {
  /** Undefined on the first page. */
  where: SQL | undefined;
  order: SQL[];
  /** One more than the page holds, which tells whether there is a next one. */
  limit: number;
  /** Runs the statement and makes a page of its rows; for long rows, as many as one response may carry. */
  read<Row, T>(
    tx: Tx,
    listing: Listing<Row>,
    place: (row: Row) => { at: Date; id: string },
    present: (row: Row) => T,
  ): Promise<Page<T>>;
  /** The same for rows already in memory that are always short. */
  cut<Row, T>(
    rows: readonly Row[],
    place: (row: Row) => { at: Date; id: string },
    present: (row: Row) => T,
  ): Page<T>;
}

/** The place of a row in a list by creation. */
export const byCreation = ({ created_at, id }: { created_at: Date; id: string }) => ({ at: created_at, id });

const LARGEST = 200;
/** For lists documented as unlimited (decisions 10.7). */
export const MOST_ROWS = 1000;

/**
 * What a statement needs for one page. A limit above 200 is clamped.
 * @param unasked page size when no limit is given; null: as many as a response may carry (decisions 10.7)
 * @param index how the list's index goes: a `.desc()` of drizzle is newest first, a plain one is read backwards
 * @throws invalid for an invalid cursor
 */
export function newestFirst(
  at: PgColumn,
  id: PgColumn,
  request: PageRequest,
  unasked: number | null,
  index: 'newest first' | 'oldest first' = 'newest first',
): PagePlan {
  // As the index has it: in any other order PostgreSQL would read and sort the whole list for a page of it.
  const first = index === 'newest first' ? sql`desc nulls last` : sql`desc`;
  return planOf(
    { order: [sql`${at} ${first}`, sql`${id} ${first}`], beyond: sql`(${at}, ${id}) <` },
    request,
    unasked,
  );
}

/** The same for conversations, which are read from the start. */
export function oldestFirst(
  at: PgColumn,
  id: PgColumn,
  request: PageRequest,
  unasked: number | null,
): PagePlan {
  return planOf({ order: [asc(at), asc(id)], beyond: sql`(${at}, ${id}) >` }, request, unasked);
}

function planOf(
  { order, beyond }: { order: SQL[]; beyond: SQL },
  { limit, cursor }: PageRequest,
  unasked: number | null,
): PagePlan {
  const size = limit === undefined ? (unasked ?? MOST_ROWS) : Math.min(limit, LARGEST);
  const [instant, after] = cursor === undefined ? [] : decodeCursor(cursor, ['timestamp', 'uuid']);
  return {
    where: cursor === undefined ? undefined : sql`${beyond} (${instant}::timestamptz, ${after}::uuid)`,
    order,
    limit: size + 1,
    cut: (rows, place, present) => pageOf(rows.slice(0, size), rows.length > size, place, present),
    async read(tx, listing, place, present) {
      const { rows, more } = await readWithinBytes(tx, listing);
      return pageOf(rows.slice(0, size), more || rows.length > size, place, present);
    },
  };
}

function pageOf<Row, T>(
  rows: readonly Row[],
  more: boolean,
  place: (row: Row) => { at: Date; id: string },
  present: (row: Row) => T,
): Page<T> {
  const last = rows.at(-1);
  const end = !more || last === undefined ? undefined : place(last);
  return {
    items: rows.map((row) => present(row)),
    next_cursor: end === undefined ? null : encodeCursor([end.at.toISOString(), end.id]),
  };
}
