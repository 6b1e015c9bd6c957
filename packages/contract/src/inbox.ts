/** What is waiting for someone (specification, Agents: inbox-lite; decisions 3, Inbox; 7.15). */
import { Type, type Static } from 'typebox';
import { Approval } from './approvals.ts';
import { BudgetIncident } from './budgets.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { IssueSummary } from './issues.ts';
import { Wakeup } from './runs.ts';
import { Timestamp, Uuid } from './schema-kit.ts';

/** A reader's snooze has changed; sent to no one else. */
export const InboxChanged = Type.Object({ issue_id: Uuid, reader_id: Uuid });
export type InboxChanged = Static<typeof InboxChanged>;

/** An issue that the reader has snoozed. */
export const SnoozedIssue = Type.Object({ ...IssueSummary.properties, snoozed_until: Timestamp });
export type SnoozedIssue = Static<typeof SnoozedIssue>;

/** Ninety days: anything snoozed for longer would be forgotten. */
const LONGEST_SNOOZE_MIN = 90 * 24 * 60;

export const Inbox = Type.Object({
  unread_issues: Type.Array(IssueSummary),
  /** Pending approvals. */
  approvals: Type.Array(Approval),
  /** Issues whose agent has asked the people a question. */
  awaiting_input: Type.Array(IssueSummary),
  /** Issues on which agents were going in circles. */
  needs_attention: Type.Array(IssueSummary),
  /** Open incidents. */
  budget_incidents: Type.Array(BudgetIncident),
  /** Snoozed by the caller and unchanged since; not included in any of the lists above. */
  snoozed_issues: Type.Array(SnoozedIssue),
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

export const inboxEndpoints = {
  lite: endpoint({
    id: 'inbox.lite',
    method: 'GET',
    path: '/api/agents/me/inbox-lite',
    auth: ['agent'],
    role: 'none',
    scope: { by: 'self' },
    response: Type.Object({ issues: Type.Array(IssueSummary), wakeup_requests: Type.Array(Wakeup) }),
    status: 200,
    tx: 'write',
    doc: 'The agent’s open issues and pending wakeups; the wakeups are consumed.',
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
    doc: 'What waits for the caller in the company, 100 of each at most, changed last comes first.',
  }),
  read: endpoint({
    ...reading,
    id: 'inbox.read',
    path: '/api/issues/{issueId}/read',
    doc: 'The caller has read the issue: only what comes later makes it unread again.',
  }),
  unread: endpoint({
    ...reading,
    id: 'inbox.unread',
    path: '/api/issues/{issueId}/unread',
    doc: 'The issue is unread by the caller, and no longer put off.',
  }),
  snooze: endpoint({
    ...reading,
    id: 'inbox.snooze',
    path: '/api/issues/{issueId}/snooze',
    body: Type.Object({ minutes: Type.Integer({ minimum: 1, maximum: LONGEST_SNOOZE_MIN }) }),
    example: { minutes: 240 },
    doc: 'The issue leaves the caller’s inbox for so long, 90 days at most, and is unread again afterwards; whatever happens to it brings it back before.',
  }),
  readAll: endpoint({
    ...reading,
    id: 'inbox.readAll',
    path: '/api/companies/{companyId}/inbox/read',
    scope: { by: 'company', param: 'companyId' },
    doc: 'The caller has read every issue of the company.',
  }),
};
