import { type Tx, schema } from '@acp/db';
import { Column, getTableColumns, type SQL } from 'drizzle-orm';
import { inNoTrash, shownColumns, shownRow } from '../trash/index.ts';

const { issues } = schema;

export type IssueRow = typeof issues.$inferSelect;
export type LabelRow = typeof schema.labels.$inferSelect;
export type RelationRow = typeof schema.issue_relations.$inferSelect;

/**
 * A row of a hand-written statement, all of the table's columns in it, as drizzle would have read it: instants as Date.
 * It is the same object, changed, and keeps what else the statement selected: a list page is read without a copy.
 */
export function toIssueRow(raw: Record<string, unknown>): IssueRow {
  return readRow(issueColumns, raw) as IssueRow;
}

export function toRelationRow(raw: Record<string, unknown>): RelationRow {
  return readRow(relationColumns, raw) as RelationRow;
}

const issueColumns = mappedColumns(issues);
const relationColumns = mappedColumns(schema.issue_relations);

/** Those whose values are something else in a row than the driver gives. */
function mappedColumns(table: typeof issues | typeof schema.issue_relations): [string, Column][] {
  const unmapped: unknown = Reflect.get(Column.prototype, 'mapFromDriverValue');
  return Object.entries<Column>(getTableColumns(table)).filter(
    ([, column]) => Reflect.get(column, 'mapFromDriverValue') !== unmapped,
  );
}

function readRow(columns: [string, Column][], raw: Record<string, unknown>): Record<string, unknown> {
  for (const [name, column] of columns) {
    const value = raw[name];
    if (value !== null && value !== undefined) raw[name] = column.mapFromDriverValue(value);
  }
  return raw;
}

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
