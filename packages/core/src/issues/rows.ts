import { type Tx, schema } from '@acp/db';
import { Column, getTableColumns, type SQL, sql } from 'drizzle-orm';

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
 * Not in the trash, nor under a parent that is (decisions 7.6: children are not trashed one by one, they come back
 * with their parent). Lists read it for the rows of a page only; an issue without a parent costs nothing.
 * @param issue alias of the issues table in the statement
 */
export function notTrashed(issue: string): SQL {
  const i = sql.identifier(issue);
  return sql`${i}.deleted_at is null and (${i}.parent_issue_id is null or not exists (
    with recursive above as (
      select p.parent_issue_id, p.deleted_at from issues p where p.id = ${i}.parent_issue_id
      union all
      select p.parent_issue_id, p.deleted_at from above join issues p on p.id = above.parent_issue_id
      where above.deleted_at is null
    ) select from above where deleted_at is not null))`;
}

/** The rows of a statement whose every row is an issue. */
export async function selectIssues(tx: Tx, statement: SQL): Promise<IssueRow[]> {
  const { rows } = await tx.execute(statement);
  return rows.map(toIssueRow);
}
