import type { Actor, Inbox } from '@acp/contract';
import type { Tx } from '@acp/db';
import { isCompanyAdmin } from '../agents/index.ts';
import { approvalsAskingFor, approvalsSnoozedBy } from '../approvals/index.ts';
import { listBudgetIncidents } from '../budgets/index.ts';
import { listJoinRequests } from '../companies/index.ts';
import { issuesAskingFor, snoozedBy, unreadBy } from '../issues/index.ts';

/** Limit per section: more than anyone handles in one go; the slices' own lists have pages. */
export const MOST_WAITING = 100;

/** Items that need an answer from the caller; excludes merely unread ones, which would be most of the work. */
export async function readWaiting(
  tx: Tx,
  actor: Actor,
  company_id: string,
): Promise<Omit<Inbox, 'unread_issues' | 'snoozed_issues' | 'snoozed_approvals'>> {
  // Sequential, since the sections share a connection anyway.
  return {
    approvals: await approvalsAskingFor(tx, actor, company_id, MOST_WAITING),
    awaiting_input: await issuesAskingFor(tx, actor, company_id, 'input', MOST_WAITING),
    needs_attention: await issuesAskingFor(tx, actor, company_id, 'attention', MOST_WAITING),
    budget_incidents: (await listBudgetIncidents(tx, company_id, { status: 'open', limit: MOST_WAITING }))
      .items,
    join_requests: isCompanyAdmin(actor, company_id)
      ? (await listJoinRequests(tx, company_id, { status: 'pending', limit: MOST_WAITING })).items
      : [],
  };
}

/** Everything in the company that waits for the caller, a user or a board-user key (decisions 3, Inbox). */
export async function readInbox(tx: Tx, actor: Actor, company_id: string): Promise<Inbox> {
  return {
    unread_issues: await unreadBy(tx, actor, company_id, MOST_WAITING),
    ...(await readWaiting(tx, actor, company_id)),
    snoozed_issues: await snoozedBy(tx, actor, company_id, MOST_WAITING),
    snoozed_approvals: await approvalsSnoozedBy(tx, actor, company_id, MOST_WAITING),
  };
}
