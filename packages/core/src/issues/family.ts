import type { IssueStatus, RelationType } from '@acp/contract';
import { terminalIssueStatuses, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { notTrashed } from './rows.ts';

export interface Relative {
  id: string;
  identifier: string;
  title: string;
  status: IssueStatus;
  assignee_name: string | null;
}

export interface RelatedIssue extends Relative {
  relation_id: string;
  relation_type: RelationType;
  /** `out`: this issue is the relation's source. */
  direction: 'out' | 'in';
}

export interface Family {
  children: Relative[];
  /** Of all children, also of those that are not listed. */
  parts: { all: number; ended: number };
  related: RelatedIssue[];
}

/** Maximum number of either: issues have any number of parts. */
const MOST = 200;

/** An issue's first children (oldest first) and related issues, as a page lists them; one statement. */
export async function readFamily(tx: Tx, issue_id: string): Promise<Family> {
  const child = sql`i.parent_issue_id = ${issue_id} and ${notTrashed('i')}`;
  const ended = sql`count(*) filter (where i.status in ${terminalIssueStatuses})`;
  const { rows } = await tx.execute<Family & Record<string, unknown>>(sql`
    select coalesce((
      select jsonb_agg(jsonb_build_object('id', i.id, 'identifier', i.identifier, 'title', i.title, 'status', i.status,
        'assignee_name', a.name) order by i.issue_number)
      from (select i.* from issues i where ${child} order by i.issue_number limit ${MOST}) i
      left join agents a on a.id = i.assignee_agent_id and a.deleted_at is null), '[]') as children,
    (select jsonb_build_object('all', count(*), 'ended', ${ended}) from issues i where ${child}) as parts,
    coalesce((
      select jsonb_agg(jsonb_build_object('relation_id', r.id, 'relation_type', r.relation_type,
        'direction', case when r.source_issue_id = ${issue_id} then 'out' else 'in' end,
        'id', i.id, 'identifier', i.identifier, 'title', i.title, 'status', i.status, 'assignee_name', a.name)
        order by r.created_at, r.id)
      from (
        select r.* from issue_relations r
        join issues i on i.id = case when r.source_issue_id = ${issue_id} then r.target_issue_id else r.source_issue_id end
        where (r.source_issue_id = ${issue_id} or r.target_issue_id = ${issue_id}) and ${notTrashed('i')}
        order by r.created_at, r.id limit ${MOST}) r
      join issues i on i.id = case when r.source_issue_id = ${issue_id} then r.target_issue_id else r.source_issue_id end
      left join agents a on a.id = i.assignee_agent_id and a.deleted_at is null), '[]') as related`);
  return rows[0]!;
}
