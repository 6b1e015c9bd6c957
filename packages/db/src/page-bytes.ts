/** Limits the bytes of rows in one response. The database does the counting, so excess rows never leave it. */
import { type AnyColumn, is, Column, type SQL, sql } from 'drizzle-orm';
import { selectionReader } from './row-reader.ts';
import type { Tx } from './tx.ts';

/** A page ends with the row that reaches this size (decisions 10.7). */
export const PAGE_BYTES = 4 * 1024 * 1024;

/** Estimate for a row's ids, instants, numbers and field names. */
const ROW_BYTES = 500;

/** A drizzle select that has not been sent yet; its rows are flat. */
export type Listing<Row> = PromiseLike<Row[]> & { as(alias: string): unknown };

/** What the outer statements need of a subquery; the types can't be expressed for an arbitrary select. */
interface Selected {
  readonly _: { readonly selectedFields: Record<string, unknown> };
}

/**
 * The first rows of a listing that fit into a page. Both wrapping statements keep its order: a window without an order of
 * its own takes rows as they come.
 * @param texts names of those fields, other than columns, that are text and may be long
 * @returns `more`: the listing continues
 */
export async function readWithinBytes<Row>(
  tx: Tx,
  listing: Listing<Row>,
  texts: readonly string[] = [],
): Promise<{ rows: Row[]; more: boolean }> {
  const listed = listing.as('listed') as Selected;
  const fields = listed._.selectedFields;
  const bytes = Object.values(fields).flatMap((field) => (is(field, Column) ? [bytesOf(field)] : []));
  const sized = tx
    .select({
      ...(fields as Record<string, AnyColumn>),
      bytes_before: bytesBefore([...bytes, ...texts.map(bytesOfText)]).as('bytes_before'),
      more: hasNext.as('more'),
    })
    .from(listed as never)
    .as('sized');
  const page = tx
    .select()
    .from(sized)
    .where(sql`${sized.bytes_before} < ${PAGE_BYTES}`);
  const { rows } = await tx.execute(page);
  return { more: rows.at(-1)?.['more'] === true, rows: rows.map(selectionReader<Row>(fields)) };
}

/**
 * The same for a hand-written statement; its rows carry `more` as well.
 * @param long names of the columns that may be long, all of type text
 */
export function withinBytes(statement: SQL, long: readonly string[]): SQL {
  return sql`select * from (
    select listed.*, ${bytesBefore(long.map(bytesOfText))} as bytes_before, ${hasNext} as more
    from (${statement}) listed
  ) sized where bytes_before < ${PAGE_BYTES}`;
}

// One window for both: each would be a pass of its own over the rows.
const rowsBefore = sql`(rows between unbounded preceding and 1 preceding)`;

const bytesBefore = (bytes: readonly SQL[]) =>
  sql<number>`coalesce(sum(${sql.join([sql`${ROW_BYTES}::int`, ...bytes], sql` + `)}) over ${rowsBefore}, 0)::bigint`;

const hasNext = sql<boolean>`coalesce(lead(true) over ${rowsBefore}, false)`;

const bytesOfText = (name: string) => sql`coalesce(octet_length(listed.${sql.identifier(name)}), 0)`;

/** The length of text is known without reading it; jsonb has to be serialised first. */
function bytesOf(column: AnyColumn): SQL {
  const type = column.getSQLType();
  if (type === 'text') return sql`coalesce(octet_length(${column}), 0)`;
  const written = type.startsWith('json') || type.endsWith('[]');
  return written ? sql`coalesce(octet_length(${column}::text), 0)` : sql`0`;
}
