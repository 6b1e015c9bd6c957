import { jsonRowReader, rowReader, schema, type Tx, withinBytes } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { inNoTrash, shownColumns, shownRow } from '../trash/index.ts';

const { issues } = schema;

export type IssueRow = typeof issues.$inferSelect;
/** An issue and the version of its row, which every change replaces. */
export type IssueVersion = IssueRow & { row_version?: string };
export type LabelRow = typeof schema.labels.$inferSelect;
export type RelationRow = typeof schema.issue_relations.$inferSelect;

/** Reads an issue from the row of a hand-written statement that has all of the table's columns. */
export const toIssueRow = rowReader(issues);
/** The same for rows that are only turned into JSON: times stay text. */
export const toJsonRow = jsonRowReader(issues);
export const toRelationRow = rowReader(schema.issue_relations);

/**
 * Neither the issue nor a parent is in the trash. Lists evaluate it only for the rows of a page.
 * @param issue alias of the issues table in the statement
 */
export function notTrashed(issue: string): SQL {
  return inNoTrash('issues', issue);
}

/**
 * `updated_at` of a change: later than any other's, although a transaction that began earlier may write later. Whoever has seen the
 * issue as it was has not seen this.
 */
export const changedNow: SQL = sql`greatest(now(), updated_at + interval '1 millisecond')`;

/** The columns that drizzle returns for an issue, as clients see it. */
export const issueFields = shownColumns(issues);

/** `i.*` as clients see it: references to things in the trash are null. */
export const shownIssue = shownRow('issues', 'i');

/**
 * A row's place and the transaction that wrote it: no later version has both, not even one written by the same transaction.
 * @param issue alias of the issues table in the statement
 */
export const rowVersion = (issue: string): SQL =>
  sql`(${sql.identifier(issue)}.ctid::text || ${sql.identifier(issue)}.xmin::text)`;

/** What of an issue is long: a list ends where it would have too much of it. */
export const longColumns = ['body_markdown'];

/** The rows of a statement that returns issues. */
export async function selectIssues(tx: Tx, statement: SQL): Promise<IssueRow[]> {
  const { rows } = await tx.execute(statement);
  return rows.map(toIssueRow);
}

/** The rows of a select, as many as fit into one answer. */
export async function readIssues(tx: Tx, statement: SQL): Promise<IssueRow[]> {
  const { rows } = await tx.execute(withinBytes(statement, longColumns));
  return rows.map(toIssueRow);
}
