import { type Issue, type IssueSort, issueStatuses, type ListIssues } from '@acp/contract';
import { fixedForms, type JsonRow, priorityWeight, titleOrder, type Tx, withinBytes } from '@acp/db';
import { type CursorField, type CursorValue, decodeCursor, encodeCursor, invalid, said } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { presentedColumns, presentIssue } from './present.ts';
import { type IssueRow, longColumns, notTrashed, toJsonRow } from './rows.ts';
import { countFound, hasTrigram, searchIssues, titleOrIdentifier } from './search-issues.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

interface IssuePage {
  items: Issue[];
  next_cursor: string | null;
}

/**
 * A page of the company's issues: newest first, with `q` the best matches first, or as `sort` says. The cursor is the sort
 * key of the last row, so every page costs the same. Throws `invalid` for an unknown status or a bad cursor.
 */
export async function listIssues(tx: Tx, companyId: string, query: ListIssues): Promise<IssuePage> {
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, MAX_LIMIT);
  const q = query.q?.trim() ?? '';
  const asked = askedFor(companyId, query);
  if (isRated(query, q)) return bestFirst(tx, filtersOf(query, asked), q, limit, query.cursor);
  return inOrder(tx, asked, q, limit, query);
}

/** The number of issues that the list consists of, counted up to `most`. */
export async function countIssues(
  tx: Tx,
  companyId: string,
  query: ListIssues,
  most: number,
): Promise<number> {
  const q = query.q?.trim() ?? '';
  const asked = askedFor(companyId, query);
  const { rows } = await tx.execute<{ count: number }>(
    isRated(query, q)
      ? countFound(filtersOf(query, asked), q, most)
      : sql`select count(*)::int as count from (
          select from issues i where ${matching(query, asked, q)} limit ${most}) counted`,
  );
  return rows[0]!.count;
}

const isRated = ({ sort }: ListIssues, q: string): boolean => hasTrigram(q) && sort === undefined;

const matching = (query: ListIssues, values: Asked, q: string): SQL =>
  q === '' ? filtersOf(query, values) : sql`${filtersOf(query, values)} and ${titleOrIdentifier(q)}`;

interface Order {
  /** In descending order, like the indexes; the id after them makes each position unique. */
  terms: readonly SQL[];
  /** Their types in the cursor. */
  fields: readonly CursorField[];
  types: readonly SQL[];
  placeOf: (row: JsonRow<IssueRow>, raw: Record<string, unknown>) => CursorValue[];
  /** The natural order for people starts with the smallest. */
  ascending?: true;
}

const orders: Record<IssueSort, Order> = {
  created_at: byInstant('created_at'),
  updated_at: byInstant('updated_at'),
  priority: {
    terms: [priorityWeight(sql`i.priority`), sql`i.created_at`],
    fields: ['integer', 'timestamp'],
    types: [sql`int`, sql`timestamptz`],
    placeOf: (row, raw) => [Number(raw.sort_key), row.created_at],
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
    placeOf: (row) => [row[column]],
  };
}

const filterNames = [
  'company_id',
  'status',
  'statuses',
  'priority',
  'assignee',
  'project',
  'goal',
  'label',
] as const;
type Asked = Record<(typeof filterNames)[number], unknown>;

const pages = fixedForms([...filterNames, 'first', 'second', 'id', 'rows']);
type Given = Record<(typeof filterNames)[number] | 'first' | 'second' | 'id' | 'rows', unknown>;

async function inOrder(
  tx: Tx,
  asked: Asked,
  q: string,
  limit: number,
  query: ListIssues,
): Promise<IssuePage> {
  const { cursor, sort = 'created_at', reverse = false } = query;
  const order = orders[sort];
  const after = cursor === undefined ? undefined : decodeCursor(cursor, [...order.fields, 'uuid']);
  const [first, second] = after ?? [];
  const given: Given = { ...asked, first, second, id: after?.at(-1), rows: limit + 1 };
  const make = (values: Given) =>
    inOrderOf(order, reverse, after !== undefined, matching(query, values, q), values);
  // Searches have too many statement forms to prepare.
  const rows =
    q === ''
      ? await pages(tx, `${sort} ${reverse} ${after !== undefined} ${formOf(query)}`, given, make)
      : (await tx.execute(make(given))).rows;
  const page = rows.slice(0, limit).map((raw) => ({ row: toJsonRow(raw), raw }));
  const last = rows.length > limit || rows.at(-1)?.more === true ? page.at(-1) : undefined;
  return {
    items: page.map(({ row }) => presentIssue(row)),
    next_cursor: last ? encodeCursor([...order.placeOf(last.row, last.raw), last.row.id]) : null,
  };
}

function inOrderOf(order: Order, reverse: boolean, goesOn: boolean, filters: SQL, values: Given): SQL {
  const upwards = (order.ascending ?? false) !== reverse;
  // Same null order as in the indexes, read forwards or backwards: otherwise the whole company would have to be sorted.
  const way = upwards ? sql`asc nulls first` : sql`desc nulls last`;
  const places = [...order.terms, sql`i.id`];
  const sorting = places.map((term) => sql`${term} ${way}`);
  const beyond = goesOn ? sql`and ${isBeyond(order, places, upwards, values)}` : sql``;
  const listed = sql`select ${presentedColumns}, ${order.terms[0]!} as sort_key from issues i
    where ${filters} ${beyond} order by ${sql.join(sorting, sql`, `)} limit ${values.rows}`;
  return withinBytes(listed, longColumns);
}

function isBeyond(order: Order, places: readonly SQL[], upwards: boolean, values: Given): SQL {
  const cursor =
    order.types.length > 1 ? [values.first, values.second, values.id] : [values.first, values.id];
  const typed = [...order.types, sql`uuid`].map((type, index) => sql`${cursor[index]}::${type}`);
  return sql`(${sql.join([...places], sql`, `)}) ${upwards ? sql`>` : sql`<`} (${sql.join(typed, sql`, `)})`;
}

async function bestFirst(
  tx: Tx,
  filters: SQL,
  q: string,
  limit: number,
  cursor?: string,
): Promise<IssuePage> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, ['integer', 'timestamp', 'uuid']);
  const { rows } = await tx.execute(withinBytes(searchIssues(filters, q, limit + 1, after), longColumns));
  const page = rows.slice(0, limit).map((raw) => ({ issue: toJsonRow(raw), score: Number(raw.score) }));
  const last = rows.length > limit || rows.at(-1)?.more === true ? page.at(-1) : undefined;
  return {
    items: page.map(({ issue }) => presentIssue(issue)),
    next_cursor: last ? encodeCursor([last.score, last.issue.created_at, last.issue.id]) : null,
  };
}

/** @throws invalid for an unknown status */
function askedFor(company_id: string, query: ListIssues): Asked {
  const statuses = parseStatuses(query.status ?? '');
  return {
    company_id,
    status: statuses[0],
    statuses,
    priority: query.priority,
    assignee: query.assigneeAgentId,
    project: query.projectId,
    goal: query.goalId,
    label: query.labelId,
  };
}

/** @param values the requested values, or their placeholders in a statement */
function filtersOf(query: ListIssues, values: Asked): SQL {
  const filters = [sql`i.company_id = ${values.company_id} and ${notTrashed('i')}`];
  const statuses = parseStatuses(query.status ?? '').length;
  // With a single status, an index already has the list's order.
  if (statuses === 1) filters.push(sql`i.status = ${values.status}`);
  else if (statuses > 1) filters.push(sql`i.status = any(${listOf(values.statuses)}::text[])`);
  if (query.priority) filters.push(sql`i.priority = ${values.priority}`);
  if (query.unassigned) filters.push(sql`i.assignee_agent_id is null`);
  else if (query.assigneeAgentId) filters.push(sql`i.assignee_agent_id = ${values.assignee}`);
  if (query.projectId) filters.push(sql`i.project_id = ${values.project}`);
  if (query.goalId) filters.push(sql`i.goal_id = ${values.goal}`);
  if (query.labelId)
    filters.push(
      sql`exists (select from issue_labels l where l.issue_id = i.id and l.label_id = ${values.label})`,
    );
  return sql.join(filters, sql` and `);
}

// Drizzle would expand it into a list of its items.
const listOf = (values: unknown): unknown => (Array.isArray(values) ? sql.param(values) : values);

/** The parts of the query that the text of its statement depends on. */
function formOf({
  status = '',
  priority,
  unassigned,
  assigneeAgentId,
  projectId,
  goalId,
  labelId,
}: ListIssues): string {
  const assignee = unassigned ? 'none' : Boolean(assigneeAgentId);
  return [
    parseStatuses(status).length,
    Boolean(priority),
    assignee,
    Boolean(projectId),
    Boolean(goalId),
    Boolean(labelId),
  ].join(' ');
}

/** Parses a comma-separated list; blanks around the commas are ignored. */
function parseStatuses(list: string): string[] {
  const statuses = list
    .split(',')
    .map((status) => status.trim())
    .filter((status) => status !== '');
  const unknown = statuses.find((status) => !issueStatuses.some((known) => known === status));
  if (unknown !== undefined) throw invalid(said`query.status: unknown status ${unknown}`);
  return [...new Set(statuses)];
}
