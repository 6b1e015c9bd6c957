/** What is waiting for someone (specification, Agents: inbox-lite; decisions 3, Inbox; 7.15). */
import { Type, type Static } from 'typebox';
import { Approval } from './approvals.ts';
import { BudgetIncident } from './budgets.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { JoinRequest } from './invites.ts';
import { Issue } from './issues.ts';
import { Wakeup } from './runs.ts';
import { Timestamp, Uuid } from './schema-kit.ts';

/** A reader's snooze has changed; sent to no one else. */
export const InboxChanged = Type.Object({
  /** What was snoozed: either an issue or an approval. */
  issue_id: Type.Optional(Uuid),
  approval_id: Type.Optional(Uuid),
  reader_id: Uuid,
});
export type InboxChanged = Static<typeof InboxChanged>;

/** An issue that the reader has snoozed. */
export const SnoozedIssue = Type.Object({ ...Issue.properties, snoozed_until: Timestamp });
export type SnoozedIssue = Static<typeof SnoozedIssue>;

/** An approval that the reader has snoozed. */
export const SnoozedApproval = Type.Object({ ...Approval.properties, snoozed_until: Timestamp });
export type SnoozedApproval = Static<typeof SnoozedApproval>;

/** Ninety days: anything snoozed for longer would be forgotten. */
const LONGEST_SNOOZE_MIN = 90 * 24 * 60;

const Snooze = Type.Object({ minutes: Type.Integer({ minimum: 1, maximum: LONGEST_SNOOZE_MIN }) });

export const Inbox = Type.Object({
  unread_issues: Type.Array(Issue),
  /** Pending approvals. */
  approvals: Type.Array(Approval),
  /** Issues whose agent has asked the people a question. */
  awaiting_input: Type.Array(Issue),
  /** Issues on which agents were going in circles, and open ones whose last run failed. */
  needs_attention: Type.Array(Issue),
  /** Open incidents. */
  budget_incidents: Type.Array(BudgetIncident),
  /** Pending requests to join the company, if the caller is an admin of it. */
  join_requests: Type.Array(JoinRequest),
  /** Snoozed by the caller and unchanged since; not included in any of the lists above. */
  snoozed_issues: Type.Array(SnoozedIssue),
  snoozed_approvals: Type.Array(SnoozedApproval),
});
export type Inbox = Static<typeof Inbox>;

const reading = {
  method: 'POST',
  auth: BEARER,
  people_only: true,
  role: 'viewer',
  scope: { by: 'issue', param: 'issueId' },
  response: null,
  status: 204,
  tx: 'write',
} as const;

const byApproval = { by: 'approval', param: 'approvalId' } as const;

export const inboxEndpoints = {
  lite: endpoint({
    id: 'inbox.lite',
    method: 'GET',
    path: '/api/agents/me/inbox-lite',
    auth: ['agent'],
    role: 'none',
    scope: { by: 'self' },
    response: Type.Object({ issues: Type.Array(Issue), wakeup_requests: Type.Array(Wakeup) }),
    status: 200,
    tx: 'write',
    doc: 'The agent’s open issues, most urgent first, at most 1,000 or 4 MB, and pending wakeups; the wakeups are consumed.',
  }),
  get: endpoint({
    id: 'inbox.get',
    method: 'GET',
    path: '/api/companies/{companyId}/inbox',
    auth: BEARER,
    people_only: true,
    role: 'viewer',
    scope: { by: 'company', param: 'companyId' },
    response: Inbox,
    status: 200,
    tx: 'none',
    doc: 'What is waiting for the caller in the company, at most 100 of each kind, and 4 MB of issues, most recently changed first.',
  }),
  read: endpoint({
    ...reading,
    id: 'inbox.read',
    path: '/api/issues/{issueId}/read',
    doc: 'Marks the issue as read: only later changes make it unread again.',
  }),
  unread: endpoint({
    ...reading,
    id: 'inbox.unread',
    path: '/api/issues/{issueId}/unread',
    doc: 'Marks the issue as unread, and ends its snooze.',
  }),
  snooze: endpoint({
    ...reading,
    id: 'inbox.snooze',
    path: '/api/issues/{issueId}/snooze',
    body: Snooze,
    example: { minutes: 240 },
    doc: 'Snoozes the issue: it leaves the caller’s inbox for that long, at most 90 days, and is unread afterwards; any change to it ends the snooze early.',
  }),
  snoozeApproval: endpoint({
    ...reading,
    id: 'inbox.snooze-approval',
    path: '/api/approvals/{approvalId}/snooze',
    scope: byApproval,
    body: Snooze,
    example: { minutes: 240 },
    doc: 'Snoozes a pending approval: it leaves the caller’s inbox for that long, at most 90 days; a comment of someone else, a new version or a decision ends the snooze early. Not pending: 409.',
  }),
  unsnoozeApproval: endpoint({
    ...reading,
    id: 'inbox.unsnooze-approval',
    path: '/api/approvals/{approvalId}/unsnooze',
    scope: byApproval,
    doc: 'Ends the caller’s snooze of the approval.',
  }),
  readAll: endpoint({
    ...reading,
    id: 'inbox.readAll',
    path: '/api/companies/{companyId}/inbox/read',
    scope: { by: 'company', param: 'companyId' },
    doc: 'Marks every issue of the company as read.',
  }),
};
