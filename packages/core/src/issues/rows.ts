import { jsonRowReader, rowReader, schema, type Tx } from '@acp/db';
import type { SQL } from 'drizzle-orm';
import { inNoTrash, shownColumns, shownRow } from '../trash/index.ts';

const { issues } = schema;

export type IssueRow = typeof issues.$inferSelect;
export type LabelRow = typeof schema.labels.$inferSelect;
export type RelationRow = typeof schema.issue_relations.$inferSelect;

/** A row of a hand-written statement, all of the table's columns in it. */
export const toIssueRow = rowReader(issues);
/** The same for what only becomes JSON: instants are text. */
export const toJsonRow = jsonRowReader(issues);
export const toRelationRow = rowReader(schema.issue_relations);

/**
 * Not in the trash, nor under a parent that is. Lists read it for the rows of a page only.
 * @param issue alias of the issues table in the statement
 */
export function notTrashed(issue: string): SQL {
  return inNoTrash('issues', issue);
}

/** What drizzle returns of an issue, as clients see it. */
export const issueFields = shownColumns(issues);

/** `i.*` as clients see it: what the issue refers to and lies in the trash is null. */
export const shownIssue = shownRow('issues', 'i');

/** The rows of a statement whose every row is an issue. */
export async function selectIssues(tx: Tx, statement: SQL): Promise<IssueRow[]> {
  const { rows } = await tx.execute(statement);
  return rows.map(toIssueRow);
}
