/** How many bytes of rows one answer may carry, counted by the database: what is too much never leaves it. */
import { type AnyColumn, is, Column, type SQL, sql } from 'drizzle-orm';
import type { Tx } from './tx.ts';

/** A page ends with the row that reaches it (decisions 10.7). */
export const PAGE_BYTES = 4 * 1024 * 1024;

/** Ids, instants and numbers of a row, and the names of its fields. */
const ROW_BYTES = 500;

/** A select of drizzle's, not yet sent; its rows are flat. */
export type Listing<Row> = PromiseLike<Row[]> & { as(alias: string): unknown };

/** What the outer statements need of a subquery; their types can't be written down for any select. */
interface Selected {
  readonly _: { readonly selectedFields: Record<string, unknown> };
}

/**
 * The first rows of a listing that fit into a page. Both statements around it keep its order: a window without one of
 * its own takes rows as they come.
 * @returns `more`: the listing goes on
 */
export async function readWithinBytes<Row>(
  tx: Tx,
  listing: Listing<Row>,
): Promise<{ rows: Row[]; more: boolean }> {
  const listed = listing.as('listed') as Selected;
  const fields = listed._.selectedFields;
  const bytes = Object.values(fields).flatMap((field) => (is(field, Column) ? [bytesOf(field)] : []));
  const sized = tx
    .select({
      ...(fields as Record<string, AnyColumn>),
      bytes_before: bytesBefore(sql.join([sql`${ROW_BYTES}::int`, ...bytes], sql` + `)).as('bytes_before'),
      more: hasNext.as('more'),
    })
    .from(listed as never)
    .as('sized');
  const rows = (await tx
    .select()
    .from(sized)
    .where(sql`${sized.bytes_before} < ${PAGE_BYTES}`)) as (Row & { more: boolean; bytes_before: unknown })[];
  return {
    more: rows.at(-1)?.more ?? false,
    rows: rows.map(({ bytes_before: _bytes, more: _more, ...row }) => row as Row),
  };
}

/**
 * The same around a statement of hand-written SQL; its rows carry `more` too.
 * @param long names of its columns that may be long, all of them text
 */
export function withinBytes(statement: SQL, long: readonly string[]): SQL {
  const bytes = long.map((name) => sql`coalesce(octet_length(listed.${sql.identifier(name)}), 0)`);
  return sql`select * from (
    select listed.*, ${bytesBefore(sql.join([sql`${ROW_BYTES}::int`, ...bytes], sql` + `))} as bytes_before, ${hasNext} as more
    from (${statement}) listed
  ) sized where bytes_before < ${PAGE_BYTES}`;
}

const bytesBefore = (bytes: SQL) =>
  sql<number>`coalesce(sum(${bytes}) over (rows between unbounded preceding and 1 preceding), 0)::bigint`;

const hasNext = sql<boolean>`coalesce(lead(true) over (), false)`;

/** The length of text is known without reading it; documents have to be written out. */
function bytesOf(column: AnyColumn): SQL {
  const type = column.getSQLType();
  if (type === 'text') return sql`coalesce(octet_length(${column}), 0)`;
  const written = type.startsWith('json') || type.endsWith('[]');
  return written ? sql`coalesce(octet_length(${column}::text), 0)` : sql`0`;
}
