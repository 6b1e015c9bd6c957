/** Orders of issues that are no column, and their text: an index serves a statement only where both spell them alike. */
import { type AnyColumn, type SQL, sql } from 'drizzle-orm';

type Term = SQL | AnyColumn;

/** 4 is critical, 1 low. */
export const priorityWeight = (priority: Term): SQL =>
  sql`(case ${priority} when 'critical' then 4 when 'high' then 3 when 'medium' then 2 else 1 end)`;

/** The beginning tells titles apart, and fits into a cursor. */
export const titleOrder = (title: Term): SQL => sql`(lower(left(${title}, 40)))`;

/** The words of a description. What lies beyond is not found: PostgreSQL bounds the size of such a value. */
export const issueText = (body: Term): SQL => sql`to_tsvector('simple', left(coalesce(${body}, ''), 100000))`;
