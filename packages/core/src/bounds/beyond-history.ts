/** How much of a history is kept: revisions of documents, prompts and configurations. */
import { type SQL, sql } from 'drizzle-orm';

/** Entries kept at most, and bytes; the newest few are kept however long they are. */
export const HISTORY = { entries: 200, bytes: 20_000_000, fewest: 10 } as const;
/** Removed per write at most: a history from before there was a limit shrinks step by step. */
const BITE = 50;

interface History {
  /** With its alias. */
  table: SQL;
  where: SQL;
  /** Identifies an entry within the history. */
  key: SQL;
  /** An index has it, so that only what may be kept is read. */
  newest_first: SQL;
  /** The long column; its size is known without reading it. */
  text: SQL;
}

/**
 * Keys of the entries beyond the limits, for a `delete` with or after each write. A history is thus limited at any moment, without a
 * timer that searches for long ones.
 */
export function beyondHistory({ table, where, key, newest_first, text }: History): SQL {
  return sql`(select key from (
      select key, place, sum(size) over (order by place) as bytes from (
        select ${key} as key, row_number() over (order by ${newest_first}) as place, pg_column_size(${text}) as size
        from ${table} where ${where} order by ${newest_first} limit ${HISTORY.entries + BITE}) newest) ranked
    where place > ${HISTORY.entries} or (bytes > ${HISTORY.bytes} and place > ${HISTORY.fewest})
    order by place desc limit ${BITE})`;
}
