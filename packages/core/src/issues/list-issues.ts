import { type Issue, type IssueSort, issueStatuses, type ListIssues } from '@acp/contract';
import { priorityWeight, titleOrder, type Tx, withinBytes } from '@acp/db';
import { type CursorField, type CursorValue, decodeCursor, encodeCursor, invalid } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { presentedColumns, presentIssue, type PresentedRow } from './present.ts';
import { notTrashed, toIssueRow } from './rows.ts';
import { searchIssues, SHORTEST_FUZZY, titleOrIdentifier } from './search-issues.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const LONG = ['body_markdown'];

export interface IssuePage {
  items: Issue[];
  next_cursor: string | null;
}

/**
 * A page of the company's issues, newest first; with `q` the best matches first; or as `sort` says. The cursor is the sort key of the
 * last row, so that a page costs the same wherever it lies. Throws `invalid` for an unknown status or a bad cursor.
 */
export async function listIssues(tx: Tx, companyId: string, query: ListIssues): Promise<IssuePage> {
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, MAX_LIMIT);
  const filters = sql`i.company_id = ${companyId} and ${notTrashed('i')} ${filtersOf(query)}`;
  const q = query.q?.trim() ?? '';
  if (q.length >= SHORTEST_FUZZY && query.sort === undefined)
    return bestFirst(tx, filters, q, limit, query.cursor);
  return inOrder(tx, matching(filters, q), limit, query);
}

/** How many there are, counted as far as anybody wants to know. */
export async function countIssues(
  tx: Tx,
  companyId: string,
  query: ListIssues,
  most: number,
): Promise<number> {
  const filters = sql`i.company_id = ${companyId} and ${notTrashed('i')} ${filtersOf(query)}`;
  const { rows } = await tx.execute<{ count: number }>(sql`
    select count(*)::int as count from (
      select from issues i where ${matching(filters, query.q?.trim() ?? '')} limit ${most}) counted`);
  return rows[0]!.count;
}

const matching = (filters: SQL, q: string): SQL =>
  q === '' ? filters : sql`${filters} and ${titleOrIdentifier(q)}`;

interface Order {
  /** From the largest to the smallest, as the indexes have them; the id after them makes each place unique. */
  terms: readonly SQL[];
  /** What the cursor holds of them. */
  fields: readonly CursorField[];
  types: readonly SQL[];
  placeOf: (row: PresentedRow, raw: Record<string, unknown>) => CursorValue[];
  /** The order that people mean begins with the smallest. */
  ascending?: true;
}

const orders: Record<IssueSort, Order> = {
  created_at: byInstant('created_at'),
  updated_at: byInstant('updated_at'),
  priority: {
    terms: [priorityWeight(sql`i.priority`), sql`i.created_at`],
    fields: ['integer', 'timestamp'],
    types: [sql`int`, sql`timestamptz`],
    placeOf: (row, raw) => [Number(raw.sort_key), row.created_at.toISOString()],
  },
  title: {
    terms: [titleOrder(sql`i.title`)],
    fields: ['text'],
    types: [sql`text`],
    placeOf: (_, raw) => [String(raw.sort_key)],
    ascending: true,
  },
};

function byInstant(column: 'created_at' | 'updated_at'): Order {
  return {
    terms: [sql`i.${sql.identifier(column)}`],
    fields: ['timestamp'],
    types: [sql`timestamptz`],
    placeOf: (row) => [row[column].toISOString()],
  };
}

async function inOrder(
  tx: Tx,
  filters: SQL,
  limit: number,
  { cursor, sort = 'created_at', reverse = false }: ListIssues,
): Promise<IssuePage> {
  const order = orders[sort];
  const upwards = (order.ascending ?? false) !== reverse;
  // Nulls as in the indexes, read forwards or backwards: without it the order would need a sort of the whole company.
  const way = upwards ? sql`asc nulls first` : sql`desc nulls last`;
  const places = [...order.terms, sql`i.id`];
  const sorting = places.map((term) => sql`${term} ${way}`);
  const listed = sql`select ${presentedColumns}, ${order.terms[0]!} as sort_key from issues i
    where ${filters} ${cursor === undefined ? sql`` : beyond(order, places, cursor, upwards)}
    order by ${sql.join(sorting, sql`, `)} limit ${limit + 1}`;
  const { rows } = await tx.execute(withinBytes(listed, LONG));
  const page = rows.slice(0, limit).map((raw) => ({ row: toIssueRow(raw) as PresentedRow, raw }));
  const last = rows.length > limit || rows.at(-1)?.more === true ? page.at(-1) : undefined;
  return {
    items: page.map(({ row }) => presentIssue(row)),
    next_cursor: last ? encodeCursor([...order.placeOf(last.row, last.raw), last.row.id]) : null,
  };
}

function beyond(order: Order, places: readonly SQL[], cursor: string, upwards: boolean): SQL {
  const values = decodeCursor(cursor, [...order.fields, 'uuid']);
  const typed = [...order.types, sql`uuid`].map((type, index) => sql`${values[index]}::${type}`);
  const sign = upwards ? sql`>` : sql`<`;
  return sql`and (${sql.join([...places], sql`, `)}) ${sign} (${sql.join(typed, sql`, `)})`;
}

async function bestFirst(
  tx: Tx,
  filters: SQL,
  q: string,
  limit: number,
  cursor?: string,
): Promise<IssuePage> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, ['integer', 'timestamp', 'uuid']);
  const { rows } = await tx.execute(withinBytes(searchIssues(filters, q, limit + 1, after), LONG));
  const page = rows.slice(0, limit).map((raw) => ({ issue: toIssueRow(raw), score: Number(raw.score) }));
  const last = rows.length > limit || rows.at(-1)?.more === true ? page.at(-1) : undefined;
  return {
    items: page.map(({ issue }) => presentIssue(issue)),
    next_cursor: last ? encodeCursor([last.score, last.issue.created_at.toISOString(), last.issue.id]) : null,
  };
}

function filtersOf(query: ListIssues): SQL {
  const filters = [sql``];
  const statuses = parseStatuses(query.status ?? '');
  if (statuses.length > 0) filters.push(sql`and i.status in ${statuses}`);
  if (query.priority) filters.push(sql`and i.priority = ${query.priority}`);
  if (query.unassigned) filters.push(sql`and i.assignee_agent_id is null`);
  else if (query.assigneeAgentId) filters.push(sql`and i.assignee_agent_id = ${query.assigneeAgentId}`);
  if (query.projectId) filters.push(sql`and i.project_id = ${query.projectId}`);
  if (query.labelId)
    filters.push(
      sql`and exists (select from issue_labels l where l.issue_id = i.id and l.label_id = ${query.labelId})`,
    );
  return sql.join(filters, sql` `);
}

/** A comma list; blanks around the commas do no harm. */
function parseStatuses(list: string): string[] {
  const statuses = list
    .split(',')
    .map((status) => status.trim())
    .filter((status) => status !== '');
  const unknown = statuses.find((status) => !issueStatuses.some((known) => known === status));
  if (unknown !== undefined) throw invalid(`query.status: unknown status ${unknown}`);
  return [...new Set(statuses)];
}
