import { invalid } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { inNoTrash } from '../trash/index.ts';
import { notTrashed } from './rows.ts';

/** Ids in a body that must name something of the same company; null or absent: nothing is named. */
export interface IssueReferences {
  assignee_agent_id?: string | null;
  project_id?: string | null;
  goal_id?: string | null;
  parent_issue_id?: string | null;
}

/** Select list of one boolean per reference, for `assertReferences`: false where it names nothing of the company. */
export function checkedReferences(companyId: string, named: IssueReferences): SQL {
  const exists = (id: string | null | undefined, table: SQL, condition = sql`n.deleted_at is null`) =>
    id
      ? sql`exists (select from ${table} n where n.id = ${id} and n.company_id = ${companyId} and ${condition})`
      : sql`true`;
  return sql`
    ${exists(named.assignee_agent_id, sql`agents`)} as assignee_known,
    ${exists(named.project_id, sql`projects`)} as project_known,
    ${exists(named.goal_id, sql`goals`, inNoTrash('goals', 'n'))} as goal_known,
    ${exists(named.parent_issue_id, sql`issues`, notTrashed('n'))} as parent_known`;
}

export const allReferencesKnown = sql`assignee_known and project_known and goal_known and parent_known`;

const places = {
  assignee_known: 'assignee_agent_id: unknown agent',
  project_known: 'project_id: unknown project',
  goal_known: 'goal_id: unknown goal',
  parent_known: 'parent_issue_id: unknown issue',
};

/** Throws `invalid` that names the field. Absent, trashed and another company's are alike: nothing leaks. */
export function assertReferences(checked: Record<string, unknown>): void {
  for (const [column, message] of Object.entries(places))
    if (checked[column] === false) throw invalid(message);
}
