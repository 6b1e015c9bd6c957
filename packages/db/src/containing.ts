import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { PageRequest } from './newest-first.ts';

/** A page of the entries whose name, or whatever else identifies them, contains all words of `q`. */
export interface SearchRequest extends PageRequest {
  q?: string;
}

/** Each costs one comparison per row. */
const MOST_WORDS = 8;

/** Without case and accents: é is found as e, in either spelling of Unicode. */
const folded = (text: SQL): SQL =>
  sql`regexp_replace(normalize(lower(${text}), nfd), ${String.raw`[\u0300-\u036f]+`}, '', 'g')`;

/**
 * Condition for rows whose columns contain every word of `q`; undefined without one. No pattern: `%` and `_` are themselves. It is
 * meant for lists that are bounded, or short: rows of the list's own index are read until the page is full, and there is no index on
 * the words.
 */
export function containing(q: string | undefined, columns: readonly (PgColumn | SQL)[]): SQL | undefined {
  const words = q?.split(/\s+/).filter((word) => word !== '') ?? [];
  if (words.length === 0) return undefined;
  // Words have no line breaks, so none is found across two columns.
  const text = folded(sql`concat_ws(${'\n'}::text, ${sql.join([...columns], sql`, `)})`);
  const each = words.slice(0, MOST_WORDS).map((word) => {
    const pattern = `%${word.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
    return sql`${text} like ${folded(sql`${pattern}::text`)}`;
  });
  return sql.join(each, sql` and `);
}
