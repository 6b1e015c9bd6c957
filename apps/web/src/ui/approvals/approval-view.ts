/** What the pages of approvals know of one. */
import type { Approval, ApprovalComment } from '@acp/contract';
import type { BudgetUsage } from '@acp/core';
import { doneBy } from '../kit/answered-by.ts';
import type { FormValues } from '../kit/form-values.ts';
import { t } from '../kit/language.ts';

/** Names of the agents and users mentioned in approvals, by id. */
export type Names = ReadonlyMap<string, string>;

export interface ApprovalView {
  approval: Approval;
  issue: { id: string; title: string } | null;
  comments: readonly ApprovalComment[];
  names: Names;
  can_write: boolean;
  /** Until when the reader has put it off. */
  snoozed_until: Date | null;
  /** Words by which the list was searched that the reader came from; '' if by none. */
  q: string;
  /** What to decide next, once this is decided. */
  next: { id: string; title: string } | null;
  /** The budgets that may have to be raised for it. */
  budgets: readonly BudgetUsage[];
  is_admin: boolean;
  /** The requester may resubmit if a revision is requested. */
  may_resubmit: boolean;
  refused: { of: 'decision' | 'comment' | 'resubmit'; error: string; form: FormValues } | null;
}

export function requester(
  { requested_by_agent_id: agent_id, requested_by_user_id }: Approval,
  names: Names,
): string {
  if (agent_id !== null) return names.get(agent_id) ?? t`a deleted agent`;
  return doneBy(names, requested_by_user_id);
}

export const decider = ({ decided_by_user_id }: Approval, names: Names): string =>
  doneBy(names, decided_by_user_id);
