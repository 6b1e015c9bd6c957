/** Issues, labels and relations: shapes (specification, Issue). */
import { Type, type Static } from 'typebox';
import { Name, Nullable, OneOf, PageQuery, Patch, Text, Timestamp, Uuid } from './schema-kit.ts';

export const issueStatuses = [
  'backlog',
  'todo',
  'in_progress',
  'in_review',
  'done',
  'cancelled',
  'blocked',
] as const;
export type IssueStatus = (typeof issueStatuses)[number];
export const terminalStatuses: readonly IssueStatus[] = ['done', 'cancelled'];
/** Statuses in which an assigned issue gives its agent work. */
export const actionableStatuses: readonly IssueStatus[] = ['todo', 'in_progress'];

export const priorities = ['critical', 'high', 'medium', 'low'] as const;
export type Priority = (typeof priorities)[number];

export const relationTypes = ['blocks', 'depends_on', 'relates_to'] as const;
export type RelationType = (typeof relationTypes)[number];

export const Issue = Type.Object({
  id: Uuid,
  company_id: Uuid,
  project_id: Nullable(Uuid),
  goal_id: Nullable(Uuid),
  parent_issue_id: Nullable(Uuid),
  title: Type.String(),
  body_markdown: Nullable(Type.String()),
  status: OneOf(issueStatuses),
  priority: OneOf(priorities),
  assignee_agent_id: Nullable(Uuid),
  checked_out_by_agent_id: Nullable(Uuid),
  checked_out_at: Nullable(Timestamp),
  origin_kind: Type.String(),
  origin_id: Nullable(Type.String()),
  identifier: Type.String(),
  issue_number: Type.Integer(),
  awaiting_input: Type.Boolean(),
  needs_routing: Type.Boolean(),
  needs_human_attention: Type.Boolean(),
  /** The last run on it failed, and nothing follows by itself. */
  run_failed: Type.Boolean(),
  blocked_at: Nullable(Timestamp),
  blocked_reason: Nullable(Type.String()),
  blocked_by_agent_id: Nullable(Uuid),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Issue = Static<typeof Issue>;

/** The issue without its body, for events. */
export const IssueSummary = Type.Omit(Issue, ['body_markdown']);
export type IssueSummary = Static<typeof IssueSummary>;

export const Label = Type.Object({
  id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  color: Nullable(Type.String()),
  created_at: Timestamp,
});
export type Label = Static<typeof Label>;

export const IssueDetail = Type.Object({
  ...Issue.properties,
  /** Nearest parent first. */
  ancestors: Type.Array(
    Type.Object({ id: Uuid, identifier: Type.String(), title: Type.String(), status: OneOf(issueStatuses) }),
  ),
  labels: Type.Array(Label),
  comment_count: Type.Integer(),
});
export type IssueDetail = Static<typeof IssueDetail>;

export const Relation = Type.Object({
  id: Uuid,
  source_issue_id: Uuid,
  target_issue_id: Uuid,
  relation_type: OneOf(relationTypes),
  created_by_agent_id: Nullable(Uuid),
  created_by_user_id: Nullable(Uuid),
  created_at: Timestamp,
});
export type Relation = Static<typeof Relation>;

export const CreateIssue = Type.Object({
  title: Name,
  body_markdown: Type.Optional(Nullable(Text)),
  status: Type.Optional(OneOf(issueStatuses)),
  priority: Type.Optional(OneOf(priorities)),
  assignee_agent_id: Type.Optional(Nullable(Uuid)),
  project_id: Type.Optional(Nullable(Uuid)),
  goal_id: Type.Optional(Nullable(Uuid)),
  parent_issue_id: Type.Optional(Nullable(Uuid)),
});
export type CreateIssue = Static<typeof CreateIssue>;

export const UpdateIssue = Patch({
  title: Name,
  body_markdown: Nullable(Text),
  status: OneOf(issueStatuses),
  priority: OneOf(priorities),
  assignee_agent_id: Nullable(Uuid),
  project_id: Nullable(Uuid),
  goal_id: Nullable(Uuid),
});
export type UpdateIssue = Static<typeof UpdateIssue>;

/** Sort orders: `priority` from most urgent, `title` from A, timestamps from newest. */
export const issueSorts = ['created_at', 'updated_at', 'priority', 'title'] as const;
export type IssueSort = (typeof issueSorts)[number];

export const ListIssues = Type.Object({
  /** Comma-separated statuses. */
  status: Type.Optional(Type.String({ maxLength: 200 })),
  priority: Type.Optional(OneOf(priorities)),
  assigneeAgentId: Type.Optional(Uuid),
  /** Without an assignee; overrides `assigneeAgentId`. */
  unassigned: Type.Optional(Type.Boolean()),
  projectId: Type.Optional(Uuid),
  goalId: Type.Optional(Uuid),
  labelId: Type.Optional(Uuid),
  sort: Type.Optional(OneOf(issueSorts)),
  /** Reverses the order. */
  reverse: Type.Optional(Type.Boolean()),
  q: Type.Optional(Type.String({ maxLength: 500 })),
  ...PageQuery,
});
export type ListIssues = Static<typeof ListIssues>;

/** Bulk changes to issues; texts can only be changed one by one. */
export const IssueChange = Type.Object({
  issue_id: Uuid,
  set: Type.Optional(
    Patch({
      status: OneOf(issueStatuses),
      priority: OneOf(priorities),
      assignee_agent_id: Nullable(Uuid),
      project_id: Nullable(Uuid),
    }),
  ),
  add_label_ids: Type.Optional(Type.Array(Uuid, { maxItems: 50 })),
  remove_label_ids: Type.Optional(Type.Array(Uuid, { maxItems: 50 })),
  /** True moves it to the trash, false restores it. */
  deleted: Type.Optional(Type.Boolean()),
});
export type IssueChange = Static<typeof IssueChange>;

export const ChangeIssues = Type.Object({
  changes: Type.Array(IssueChange, { minItems: 1, maxItems: 100 }),
});
export type ChangeIssues = Static<typeof ChangeIssues>;

export const ChangedIssues = Type.Object({
  /** Number of issues that changed. */
  changed: Type.Integer(),
  /** Changes that undo this one, for the same endpoint. */
  undo: Type.Array(IssueChange),
});
export type ChangedIssues = Static<typeof ChangedIssues>;

export const CreateLabel = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' }),
  color: Type.Optional(Nullable(Type.String({ maxLength: 50 }))),
});

export const CreateRelation = Type.Object({
  target_issue_id: Uuid,
  relation_type: Type.Optional(OneOf(relationTypes)),
});
