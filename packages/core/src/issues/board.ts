import { type Issue, type IssueStatus, issueStatuses, type Label } from '@acp/contract';
import { type Tx, terminalIssueStatuses } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { presentIssue } from './present.ts';
import { notTrashed, shownIssue, toIssueRow } from './rows.ts';
import { titleContains } from './search-issues.ts';

export interface BoardFilter {
  assignee_agent_id?: string | undefined;
  project_id?: string | undefined;
  label_id?: string | undefined;
  /** Part of the title, or an identifier. */
  q?: string | undefined;
}

export type BoardCard = Omit<Issue, 'body_markdown'> & {
  assignee_name: string | null;
  labels: Pick<Label, 'id' | 'name' | 'color'>[];
  comment_count: number;
};

export interface BoardColumn {
  status: IssueStatus;
  /** All that match; the cards are the newest of them. */
  count: number;
  cards: BoardCard[];
}

/** Cards of one column: open ones are all of interest, ended ones only while they are fresh. */
const MOST_CARDS = { open: 300, ended: 50 };

/** The board in one statement: columns in the order of the statuses, cards last changed first. */
export async function readBoard(tx: Tx, company_id: string, filter: BoardFilter): Promise<BoardColumn[]> {
  const rows = await selectCards(tx, sql`i.company_id = ${company_id} and ${filtersOf(filter)}`);
  return issueStatuses.map((status) => {
    const column = rows.filter(({ card }) => card.status === status);
    return { status, count: column[0]?.count ?? 0, cards: column.map(({ card }) => card) };
  });
}

/** One card, as the board with this filter would show it; undefined where it would not. */
export async function readBoardCard(
  tx: Tx,
  issue: { id: string; company_id: string },
  filter: BoardFilter,
): Promise<BoardCard | undefined> {
  const mine = sql`i.company_id = ${issue.company_id} and i.id = ${issue.id} and ${filtersOf(filter)}`;
  return (await selectCards(tx, mine))[0]?.card;
}

function filtersOf({ assignee_agent_id, project_id, label_id, q }: BoardFilter): SQL {
  const filters = [notTrashed('i')];
  if (assignee_agent_id) filters.push(sql`i.assignee_agent_id = ${assignee_agent_id}`);
  if (project_id) filters.push(sql`i.project_id = ${project_id}`);
  if (label_id) {
    filters.push(
      sql`exists (select from issue_labels l where l.issue_id = i.id and l.label_id = ${label_id})`,
    );
  }
  if (q?.trim()) filters.push(titleContains(q.trim()));
  return sql.join(filters, sql` and `);
}

async function selectCards(tx: Tx, where: SQL): Promise<{ card: BoardCard; count: number }[]> {
  const { rows } = await tx.execute(sql`
    with ranked as (
      select i.id, row_number() over (partition by i.status order by i.updated_at desc, i.id) as place,
        count(*) over (partition by i.status)::int as column_count
      from issues i where ${where}
    )
    select ${shownIssue}, r.column_count, a.name as assignee_name,
      (select count(*)::int from comments c where c.issue_id = i.id) as comment_count,
      coalesce((select jsonb_agg(jsonb_build_object('id', l.id, 'name', l.name, 'color', l.color) order by l.name)
        from issue_labels il join labels l on l.id = il.label_id where il.issue_id = i.id), '[]') as card_labels
    from ranked r join issues i on i.id = r.id left join agents a on a.id = i.assignee_agent_id and a.deleted_at is null
    where r.place <= case when i.status in ${terminalIssueStatuses} then ${MOST_CARDS.ended}::int else ${MOST_CARDS.open}::int end
    order by r.place`);
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
