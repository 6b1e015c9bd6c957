import { type Issue, type IssueStatus, issueStatuses, type Label } from '@acp/contract';
import type { Tx } from '@acp/db';
import { decodeCursor, encodeCursor } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { idsInTrash } from '../trash/index.ts';
import { presentIssue } from './present.ts';
import { notTrashed, shownIssue, toIssueRow } from './rows.ts';
import { titleOrIdentifier } from './search-issues.ts';

export interface BoardFilter {
  priority?: string | undefined;
  /** Only issues without an assignee; takes precedence over the assignee. */
  unassigned?: boolean | undefined;
  assignee_agent_id?: string | undefined;
  project_id?: string | undefined;
  goal_id?: string | undefined;
  label_id?: string | undefined;
  /** Part of a title, or an identifier. */
  q?: string | undefined;
}

export type BoardCard = Omit<Issue, 'body_markdown'> & {
  assignee_name: string | null;
  labels: Pick<Label, 'id' | 'name' | 'color'>[];
  comment_count: number;
};

export interface BoardColumn {
  status: IssueStatus;
  /** Number of matching issues, `MOST_COUNTED + 1` for more; the cards are the most recent of them. */
  count: number;
  cards: BoardCard[];
  /** Where the next page of cards starts; null if there are no more. */
  next_cursor: string | null;
}

/** How far the issues of a column, or of a list, are counted: larger numbers mean nothing to readers. */
export const MOST_COUNTED = 10_000;
const mostCounted = sql.raw(String(MOST_COUNTED));
const lastChangedFirst = sql`order by i.updated_at desc nulls last, i.id desc nulls last`;

const statuses = sql`unnest(${sql.param([...issueStatuses])}::text[]) as columns(status)`;

/** Cards per column and page: more than fit on a screen. */
const CARDS = 30;
/** Of a column that somebody returns to, at once. */
const MOST_CARDS = 300;

/** Reads the board in one statement: columns in status order, cards last changed first. */
export async function readBoard(tx: Tx, company_id: string, filter: BoardFilter): Promise<BoardColumn[]> {
  const matching = sql`i.company_id = ${company_id} and ${notTrashed('i')} ${filtersOf(filter)}`;
  const rows = await selectCards(
    tx,
    sql`
    select chosen.id, counted.count as column_count from ${statuses}
    left join (${countsOf(company_id, filter)}) counted using (status)
    cross join lateral (
      select i.id from issues i where ${matching} and i.status = columns.status
      ${lastChangedFirst} limit ${CARDS + 1}) chosen`,
  );
  return issueStatuses.map((status) => {
    const column = rows.filter(({ card }) => card.status === status);
    return { status, count: column[0]?.count ?? 0, ...pageOf(column.map(({ card }) => card)) };
  });
}

/** The number of matching issues of each status that has any; `MOST_COUNTED + 1` for more. */
export async function countBoard(
  tx: Tx,
  company_id: string,
  filter: BoardFilter,
): Promise<{ status: IssueStatus; count: number }[]> {
  const { rows } = await tx.execute<{ status: IssueStatus; count: number }>(countsOf(company_id, filter));
  return rows;
}

/** A select of each status that has issues, with their number: `MOST_COUNTED + 1` for more than are counted. */
function countsOf(company_id: string, filter: BoardFilter): SQL {
  const matching = sql`i.company_id = ${company_id} and i.deleted_at is null ${filtersOf(filter)}`;
  // Without a filter each column is read in the order of its index, only as far as it is counted. A filter's index knows no columns.
  const counted =
    conditionsOf(filter).length > 0
      ? sql`join (select i.status, count(*) as n from issues i where ${matching} group by i.status) counted using (status)`
      : sql`cross join lateral (select count(*) as n from (
        select from issues i where ${matching} and i.status = columns.status ${lastChangedFirst} limit ${mostCounted} + 1 + coalesce(gone.n, 0)) listed) counted`;
  return sql`select status, least(counted.n - coalesce(gone.n, 0), ${mostCounted} + 1)::int as count
    from ${statuses} left join (
      select i.status, count(*) as n from issues i where i.id in (${idsInTrash('issues', company_id)}) and ${matching} group by i.status
    ) gone using (status) ${counted} where counted.n > coalesce(gone.n, 0)`;
}

/** A column's cards, from the cursor on if there is one: those of a page, or as many as wanted. @throws invalid for a bad cursor */
export async function readBoardColumn(
  tx: Tx,
  company_id: string,
  filter: BoardFilter,
  { status, cursor, cards = CARDS }: { status: IssueStatus; cursor?: string; cards?: number },
): Promise<Pick<BoardColumn, 'cards' | 'next_cursor'>> {
  const [changed, id] = cursor === undefined ? [] : decodeCursor(cursor, ['timestamp', 'uuid']);
  const beyond =
    changed === undefined ? sql`` : sql`and (i.updated_at, i.id) < (${changed}::timestamptz, ${id}::uuid)`;
  const most = Math.max(1, Math.min(cards, MOST_CARDS));
  const rows = await selectCards(
    tx,
    sql`
    select i.id, 0 as column_count from issues i
    where i.company_id = ${company_id} and ${notTrashed('i')} ${filtersOf(filter)} and i.status = ${status} ${beyond}
    ${lastChangedFirst} limit ${most + 1}`,
  );
  return pageOf(
    rows.map(({ card }) => card),
    most,
  );
}

function pageOf(cards: readonly BoardCard[], most = CARDS): Pick<BoardColumn, 'cards' | 'next_cursor'> {
  const shown = cards.slice(0, most);
  const last = cards.length > most ? shown.at(-1) : undefined;
  const next_cursor = last ? encodeCursor([new Date(last.updated_at).toISOString(), last.id]) : null;
  return { cards: shown, next_cursor };
}

/** Those of the company's issues that the board with this filter would show. */
export async function readBoardCards(
  tx: Tx,
  company_id: string,
  ids: readonly string[],
  filter: BoardFilter,
): Promise<BoardCard[]> {
  const named = sql`i.id = any(${sql.param(ids)}::uuid[])`;
  const mine = sql`i.company_id = ${company_id} and ${named} and ${notTrashed('i')} ${filtersOf(filter)}`;
  const rows = await selectCards(tx, sql`select i.id, 0 as column_count from issues i where ${mine}`);
  return rows.map(({ card }) => card);
}

/** Further conditions on the issue `i`. */
const filtersOf = (filter: BoardFilter): SQL =>
  sql.join(
    conditionsOf(filter).map((each) => sql`and ${each}`),
    sql` `,
  );

function conditionsOf(filter: BoardFilter): SQL[] {
  const { priority, unassigned, assignee_agent_id, project_id, goal_id, label_id, q } = filter;
  const filters: SQL[] = [];
  if (priority) filters.push(sql`i.priority = ${priority}`);
  if (unassigned) filters.push(sql`i.assignee_agent_id is null`);
  else if (assignee_agent_id) filters.push(sql`i.assignee_agent_id = ${assignee_agent_id}`);
  if (project_id) filters.push(sql`i.project_id = ${project_id}`);
  if (goal_id) filters.push(sql`i.goal_id = ${goal_id}`);
  if (label_id) {
    filters.push(
      sql`exists (select from issue_labels l where l.issue_id = i.id and l.label_id = ${label_id})`,
    );
  }
  if (q?.trim()) filters.push(titleOrIdentifier(q.trim()));
  return filters;
}

/** @param chosen a select of ids, each with the number of issues in its column */
async function selectCards(tx: Tx, chosen: SQL): Promise<{ card: BoardCard; count: number }[]> {
  const { rows } = await tx.execute(sql`
    with chosen as materialized (${chosen})
    select ${shownIssue}, r.column_count, a.name as assignee_name,
      (select count(*)::int from comments c where c.issue_id = i.id) as comment_count,
      coalesce((select jsonb_agg(jsonb_build_object('id', l.id, 'name', l.name, 'color', l.color) order by l.name)
        from issue_labels il join labels l on l.id = il.label_id where il.issue_id = i.id), '[]') as card_labels
    from chosen r join issues i on i.id = r.id left join agents a on a.id = i.assignee_agent_id and a.deleted_at is null
    order by i.updated_at desc, i.id desc`);
  return rows.map((raw) => {
    const { body_markdown: _, ...issue } = presentIssue(toIssueRow(raw));
    const card: BoardCard = {
      ...issue,
      assignee_name: raw.assignee_name as string | null,
      labels: raw.card_labels as BoardCard['labels'],
      comment_count: Number(raw.comment_count),
    };
    return { card, count: Number(raw.column_count) };
  });
}
