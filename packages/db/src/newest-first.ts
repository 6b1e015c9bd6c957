/** Pages of a list by (instant, id): the same place can be found again whatever was added meanwhile. */
import { decodeCursor, encodeCursor } from '@acp/kernel';
import { asc, desc, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

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
  /** One more than the page holds: it tells whether there is a next one. */
  limit: number;
  cut<Row, T>(
    rows: readonly Row[],
    place: (row: Row) => { at: Date; id: string },
    present: (row: Row) => T,
  ): Page<T>;
}

const LARGEST = 200;
const EVERYTHING = 2 ** 31 - 2;

/**
 * What a statement needs for one page. A limit above 200 is clamped.
 * @param unasked items where no limit is asked for; null is all of them (decisions 3)
 * @throws invalid for a cursor that is none
 */
export function newestFirst(
  at: PgColumn,
  id: PgColumn,
  request: PageRequest,
  unasked: number | null,
): PagePlan {
  return planOf({ order: [desc(at), desc(id)], beyond: sql`(${at}, ${id}) <` }, request, unasked);
}

/** The same for conversations, which are read from their beginning. */
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
  const size = limit === undefined ? (unasked ?? EVERYTHING) : Math.min(limit, LARGEST);
  const [instant, after] = cursor === undefined ? [] : decodeCursor(cursor, ['timestamp', 'uuid']);
  return {
    where: cursor === undefined ? undefined : sql`${beyond} (${instant}::timestamptz, ${after}::uuid)`,
    order,
    limit: size + 1,
    cut(rows, place, present) {
      const last = rows.length > size ? rows[size - 1] : undefined;
      const end = last === undefined ? undefined : place(last);
      return {
        items: rows.slice(0, size).map((row) => present(row)),
        next_cursor: end === undefined ? null : encodeCursor([end.at.toISOString(), end.id]),
      };
    },
  };
}
