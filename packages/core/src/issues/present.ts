import { Issue, type IssueSummary, type Label, type Relation } from '@acp/contract';
import type { JsonRow } from '@acp/db';
import type { Change } from '../activity/index.ts';
import { shownRow } from '../trash/index.ts';
import type { IssueRow, LabelRow, RelationRow } from './rows.ts';

type Written<Row> = Row | JsonRow<Row>;
/** The columns that are shown: all that a list page has to read. */
type PresentedRow = Written<Pick<IssueRow, keyof Issue>>;

/** Select list of `PresentedRow`; `i` is the issue. */
export const presentedColumns = shownRow('issues', 'i', Object.keys(Issue.properties));

/** The issue without its body, for events. */
export function summarizeIssue(row: PresentedRow): IssueSummary {
  return {
    id: row.id,
    company_id: row.company_id,
    project_id: row.project_id,
    goal_id: row.goal_id,
    parent_issue_id: row.parent_issue_id,
    title: row.title,
    status: row.status as IssueSummary['status'],
    priority: row.priority as IssueSummary['priority'],
    assignee_agent_id: row.assignee_agent_id,
    checked_out_by_agent_id: row.checked_out_by_agent_id,
    checked_out_at: row.checked_out_at,
    origin_kind: row.origin_kind,
    origin_id: row.origin_id,
    identifier: row.identifier,
    issue_number: row.issue_number,
    awaiting_input: row.awaiting_input,
    needs_routing: row.needs_routing,
    needs_human_attention: row.needs_human_attention,
    run_failed: row.run_failed,
    blocked_at: row.blocked_at,
    blocked_reason: row.blocked_reason,
    blocked_by_agent_id: row.blocked_by_agent_id,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

export function presentIssue(row: PresentedRow): Issue {
  return { ...summarizeIssue(row), body_markdown: row.body_markdown };
}

export function presentLabel(row: LabelRow): Label {
  const { id, company_id, name, color, created_at } = row;
  return { id, company_id, name, color, created_at };
}

export function presentRelation(row: RelationRow): Relation {
  return {
    id: row.id,
    source_issue_id: row.source_issue_id,
    target_issue_id: row.target_issue_id,
    relation_type: row.relation_type as Relation['relation_type'],
    created_by_agent_id: row.created_by_agent_id,
    created_by_user_id: row.created_by_user_id,
    created_at: row.created_at,
  };
}

/** The activity entry and the `issue_updated` event of a change; only the event if there is no action. */
export function issueUpdated(row: IssueRow, action?: string, details?: Record<string, unknown>): Change {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'issue',
    entity_id: row.id,
    // The identifier at the time: an entry may be read long after.
    details: action === undefined ? details : { identifier: row.identifier, ...details },
    event: { type: 'issue_updated', data: summarizeIssue(row) },
  };
}
