import type { IssueStatus, RelationType } from '@acp/contract';
import type { Tx } from '@acp/db';
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

/** An issue's children (oldest first) and related issues, as a page lists them; one statement. */
export async function readFamily(
  tx: Tx,
  issue_id: string,
): Promise<{ children: Relative[]; related: RelatedIssue[] }> {
  const { rows } = await tx.execute<{ children: Relative[]; related: RelatedIssue[] }>(sql`
    select coalesce((
      select jsonb_agg(jsonb_build_object('id', i.id, 'identifier', i.identifier, 'title', i.title, 'status', i.status,
        'assignee_name', a.name) order by i.issue_number)
      from issues i left join agents a on a.id = i.assignee_agent_id and a.deleted_at is null
      where i.parent_issue_id = ${issue_id} and ${notTrashed('i')}), '[]') as children,
    coalesce((
      select jsonb_agg(jsonb_build_object('relation_id', r.id, 'relation_type', r.relation_type,
        'direction', case when r.source_issue_id = ${issue_id} then 'out' else 'in' end,
        'id', i.id, 'identifier', i.identifier, 'title', i.title, 'status', i.status, 'assignee_name', a.name)
        order by r.created_at, r.id)
      from issue_relations r
      join issues i on i.id = case when r.source_issue_id = ${issue_id} then r.target_issue_id else r.source_issue_id end
      left join agents a on a.id = i.assignee_agent_id and a.deleted_at is null
      where (r.source_issue_id = ${issue_id} or r.target_issue_id = ${issue_id}) and ${notTrashed('i')}), '[]') as related`);
  return rows[0] ?? { children: [], related: [] };
}
