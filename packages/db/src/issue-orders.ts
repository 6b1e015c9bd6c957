/** Sort expressions of issues that are not columns. An index is only used where a statement spells them identically. */
import { type AnyColumn, type SQL, sql } from 'drizzle-orm';

type Term = SQL | AnyColumn;

/** 4 is critical, 1 is low. */
export const priorityWeight = (priority: Term): SQL =>
  sql`(case ${priority} when 'critical' then 4 when 'high' then 3 when 'medium' then 2 else 1 end)`;

/** A prefix is enough to tell titles apart, and fits into a cursor. */
export const titleOrder = (title: Term): SQL => sql`(lower(left(${title}, 40)))`;

/** What the index `issues_text` of earlier releases holds. Not for anything new: `searchable_text` bounds what PostgreSQL parses. */
export const issueText = (body: Term): SQL => sql`to_tsvector('simple', left(coalesce(${body}, ''), 100000))`;
