import type { IssueDetail } from '@acp/contract';
import { fixedStatement, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { DEEPEST } from '../trash/index.ts';
import { presentIssue } from './present.ts';
import type { IssueRow } from './rows.ts';

interface Extras {
  ancestors: IssueDetail['ancestors'] | null;
  labels: IssueDetail['labels'] | null;
  comment_count: number;
}

const extrasOf = fixedStatement(
  ['id', 'parent_id'],
  ({ id, parent_id }) => sql`
    with recursive above as (
      select p.id, p.identifier, p.title, p.status, p.parent_issue_id, 1 as distance
      from issues p where p.id = ${parent_id}::uuid
      union all
      select p.id, p.identifier, p.title, p.status, p.parent_issue_id, above.distance + 1
      from above join issues p on p.id = above.parent_issue_id where above.distance < ${DEEPEST}
    )
    select
      (select count(*)::int from comments c where c.issue_id = ${id}) as comment_count,
      (select json_agg(json_build_object('id', id, 'identifier', identifier, 'title', title, 'status', status) order by distance)
        from above) as ancestors,
      (select json_agg(json_build_object('id', l.id, 'company_id', l.company_id, 'name', l.name, 'color', l.color,
          'created_at', l.created_at) order by lower(l.name), l.id)
        from issue_labels x join labels l on l.id = x.label_id where x.issue_id = ${id}) as labels`,
);

/** Adds the rest of the detail to the row that the scope has loaded, in one statement. */
export async function issueDetail(tx: Tx, issue: IssueRow): Promise<IssueDetail> {
  const rows = await extrasOf(tx, { id: issue.id, parent_id: issue.parent_issue_id });
  const extras = rows[0] as Extras | undefined;
  return {
    ...presentIssue(issue),
    ancestors: extras?.ancestors ?? [],
    // PostgreSQL formats times in the session's time zone; the API uses UTC.
    labels: (extras?.labels ?? []).map((label) => ({ ...label, created_at: new Date(label.created_at) })),
    comment_count: extras?.comment_count ?? 0,
  };
}
