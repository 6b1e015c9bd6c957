import { type Issue, issueStatuses, type ListIssues } from '@acp/contract';
import { type Tx, withinBytes } from '@acp/db';
import { decodeCursor, encodeCursor, invalid } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { presentedColumns, presentIssue, type PresentedRow } from './present.ts';
import { notTrashed, toIssueRow } from './rows.ts';
import { searchIssues, SHORTEST_FUZZY, titleContains } from './search-issues.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const LONG = ['body_markdown'];

export interface IssuePage {
  items: Issue[];
  next_cursor: string | null;
}

/**
 * A page of the company's issues, newest first; with `q` the best matches first. The cursor is the sort key of the
 * last row, so that a page costs the same wherever it lies. Throws `invalid` for an unknown status or a bad cursor.
 */
export async function listIssues(tx: Tx, companyId: string, query: ListIssues): Promise<IssuePage> {
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, MAX_LIMIT);
  const filters = sql`i.company_id = ${companyId} and ${notTrashed('i')} ${filtersOf(query)}`;
  const q = query.q?.trim() ?? '';
  if (q.length >= SHORTEST_FUZZY) return bestFirst(tx, filters, q, limit, query.cursor);
  const matching = q === '' ? filters : sql`${filters} and ${titleContains(q)}`;
  return newestFirst(tx, matching, limit, query.cursor);
}

async function newestFirst(tx: Tx, filters: SQL, limit: number, cursor?: string): Promise<IssuePage> {
  const after = cursor === undefined ? sql`` : afterRow(cursor);
  // `nulls last` as in the indexes: without it the order would need a sort of the whole company.
  const listed = sql`select ${presentedColumns} from issues i where ${filters} ${after}
    order by i.created_at desc nulls last, i.id desc nulls last limit ${limit + 1}`;
  const { rows } = await tx.execute(withinBytes(listed, LONG));
  const page: PresentedRow[] = rows.slice(0, limit).map(toIssueRow);
  const last = rows.length > limit || rows.at(-1)?.more === true ? page.at(-1) : undefined;
  return {
    items: page.map(presentIssue),
    next_cursor: last ? encodeCursor([last.created_at.toISOString(), last.id]) : null,
  };
}

function afterRow(cursor: string): SQL {
  const [createdAt, id] = decodeCursor(cursor, ['timestamp', 'uuid']);
  return sql`and (i.created_at, i.id) < (${createdAt}::timestamptz, ${id}::uuid)`;
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
  if (query.assigneeAgentId) filters.push(sql`and i.assignee_agent_id = ${query.assigneeAgentId}`);
  if (query.projectId) filters.push(sql`and i.project_id = ${query.projectId}`);
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
