/** Pure rules for ending sub-agents: what happens to an active one, given the state of its tree. */
import type { SubagentOutcome } from '@acp/contract';
import { BUDGET_CATEGORY } from '../budgets/index.ts';
import { LOST_CATEGORY } from '../runs/index.ts';

/** An active sub-agent with all facts that the decision depends on. */
export interface ActiveSubagent {
  agent_id: string;
  parent_agent_id: string;
  issue_id: string;
  name: string;
  /** In the trash, or terminated by someone. */
  agent_over: boolean;
  /** In the trash, or purged. */
  issue_over: boolean;
  issue_status: string;
  /** Its issue was reassigned: it ends with the issue all the same. */
  handed_on: boolean;
  /** Its parent is gone, or ended with an outcome other than done. */
  parent_over: boolean;
  /** The issue it was spawned for was cancelled. */
  parent_issue_over: boolean;
  live_run: boolean;
  /** Has a wakeup that no run has answered. */
  pending: boolean;
  /** Its issue is parked until its own sub-agents end. */
  waits: boolean;
  last_run: { status: string; error: string | null; category: string | null } | null;
  /** Number of consecutive runs lost because their scheduler died. */
  lost_runs: number;
  /** Its last comment on its issue. */
  said: string | null;
}

export type Decision =
  | { what: 'wait' }
  /** Its issue has work for it, but nothing has woken it. */
  | { what: 'wake' }
  /** No longer needed: its run is cancelled, and the decision is made again once it has ended. */
  | { what: 'call off' }
  | { what: 'end'; outcome: SubagentOutcome; reason: string | null };

/** Maximum number of consecutive lost runs, so that work that kills its scheduler is not repeated forever. */
const MOST_LOST = 3;

const actionable = ['todo', 'in_progress'];

/** @param orphaned an ancestor has just ended with an outcome other than done */
export function decide(sub: ActiveSubagent, orphaned: boolean): Decision {
  const unwanted = orphaned || sub.parent_over || sub.parent_issue_over;
  const gone = sub.agent_over || sub.issue_over;
  if (sub.live_run) return unwanted || gone ? { what: 'call off' } : { what: 'wait' };
  if (gone) return end('deleted');
  if (sub.issue_status === 'done') return end('done');
  if (sub.issue_status === 'cancelled') return end('cancelled');
  if (unwanted) return end('cancelled', 'whoever spawned it does not need it any more');
  if (sub.pending || sub.waits || sub.handed_on || !actionable.includes(sub.issue_status))
    return { what: 'wait' };
  return afterRun(sub);
}

/** Its issue is still open and nothing would wake it, so the outcome depends on its last run. */
function afterRun({ last_run, lost_runs }: ActiveSubagent): Decision {
  if (last_run === null || last_run.category === BUDGET_CATEGORY) return { what: 'wake' };
  if (last_run.status === 'succeeded') return end('done');
  if (last_run.status === 'cancelled') return end('cancelled', 'its run was cancelled');
  if (last_run.category === LOST_CATEGORY && lost_runs < MOST_LOST) return { what: 'wake' };
  return end('failed', last_run.error ?? 'its run failed');
}

const end = (outcome: SubagentOutcome, reason: string | null = null): Decision => ({
  what: 'end',
  outcome,
  reason,
});
