/** Pure rules of an issue's state (decisions 2, 7.41, 8.2). */
import { type Actor, actionableStatuses, permits, terminalStatuses } from '@acp/contract';
import type { UpdateIssue, WakeReason } from '@acp/contract';
import { cutText, forbidden } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { humanActor } from '../activity/index.ts';
import type { IssueRow } from './rows.ts';

export const isTerminal = (status: string) => terminalStatuses.some((each) => each === status);
export const isActionable = (status: string) => actionableStatuses.some((each) => each === status);

/** Long texts are shortened in the activity; the issue has them in full. */
const LONGEST_LOGGED_BYTES = 2048;

export const mayAssign = (actor: Actor): boolean =>
  actor.kind !== 'agent' || permits(actor.permissions, 'issues.assign');

/** Throws `forbidden`. An agent that may not assign may not take or hand over an issue through any other field either. */
export function assertMayAssign(actor: Actor): void {
  if (!mayAssign(actor)) throw forbidden('permission issues.assign is off');
}

export const freeCheckout = {
  checked_out_by_agent_id: null,
  checked_out_at: null,
  checkout_run_id: null,
  self_checkout_agent_id: null,
} as const;

export const unblocked = {
  awaiting_input: false,
  blocked_at: null,
  blocked_reason: null,
  blocked_by_agent_id: null,
} as const;

/** A human's action resets the loop breaker. */
export const attended = { stalled_runs: 0, needs_human_attention: false } as const;

/** `blocked_at` uses the database's clock, which only the statement can read. */
type IssueSet = Partial<Omit<IssueRow, 'blocked_at'>> & { blocked_at?: SQL | null };

export interface IssuePlan {
  /** Columns to set in addition to `updated_at`; empty if the patch changes nothing. */
  set: IssueSet;
  /** Recorded in the activity: the changed fields with their old and new values. */
  changes: Record<string, { from: unknown; to: unknown }>;
  /** Why the assignee is woken, if at all. */
  wake: WakeReason | undefined;
}

/** The effects of a patch on the issue in its current state. */
export function planUpdate(issue: IssueRow, patch: UpdateIssue, actor: Actor): IssuePlan {
  const set: IssueSet = {};
  const changes: IssuePlan['changes'] = {};
  for (const field of patchable) {
    const to = patch[field];
    if (to === undefined || to === issue[field]) continue;
    Object.assign(set, { [field]: to });
    changes[field] = { from: logged(issue[field]), to: logged(to) };
  }
  if (set.assignee_agent_id !== undefined) Object.assign(set, assigned(issue, set.assignee_agent_id));
  if (set.status !== undefined) Object.assign(set, statusColumns(set.status, actor));
  const attending = humanActor(actor) && (issue.stalled_runs > 0 || issue.needs_human_attention);
  if (attending) Object.assign(set, attended);
  return { set, changes, wake: wakeReason(issue, set) };
}

const patchable = [
  'title',
  'body_markdown',
  'status',
  'priority',
  'assignee_agent_id',
  'project_id',
  'goal_id',
] as const satisfies (keyof UpdateIssue)[];

/** The columns that follow from a new assignee, who keeps their own checkout. */
function assigned({ checked_out_by_agent_id: holder }: IssueRow, assignee: string | null): IssueSet {
  return { ...(holder === assignee ? {} : freeCheckout), needs_routing: false };
}

/** The columns that follow from a new status. */
export function statusColumns(status: string, actor: Actor): IssueSet {
  if (status === 'blocked')
    return { blocked_at: sql`now()`, blocked_by_agent_id: actor.kind === 'agent' ? actor.agent_id : null };
  return { ...unblocked, ...(isTerminal(status) ? { ...freeCheckout, needs_routing: false } : {}) };
}

function wakeReason(before: IssueRow, set: IssueSet): WakeReason | undefined {
  const after = { ...before, ...set };
  if (after.assignee_agent_id === null || !isActionable(after.status)) return undefined;
  if (after.assignee_agent_id !== before.assignee_agent_id) return 'assignment';
  if (!isActionable(before.status)) return before.status === 'blocked' ? 'unblocked' : 'assignment';
  // The loop breaker had stopped the waking: the human's action resumes it.
  return before.needs_human_attention && !after.needs_human_attention ? 'manual' : undefined;
}

function logged(value: unknown): unknown {
  return typeof value === 'string' ? cutText(value, LONGEST_LOGGED_BYTES) : value;
}
