/** Pure rules of a sub-agent's end: what becomes of a living one, as its tree stands. */
import type { SubagentOutcome } from '@acp/contract';
import { BUDGET_CATEGORY, LOST_CATEGORY } from '../runs/index.ts';

/** A living sub-agent with all that decides on it. */
export interface ActiveSubagent {
  agent_id: string;
  parent_agent_id: string;
  issue_id: string;
  name: string;
  /** In the trash, or terminated by somebody. */
  agent_over: boolean;
  /** In the trash, or gone for good. */
  issue_over: boolean;
  issue_status: string;
  /** Given to somebody else: it ends with the issue all the same. */
  handed_on: boolean;
  /** Whoever spawned it is gone, or ended otherwise than done. */
  parent_over: boolean;
  /** The issue that it was spawned for was called off. */
  parent_issue_over: boolean;
  live_run: boolean;
  /** A wakeup that no run has answered. */
  pending: boolean;
  /** Its issue is parked for its own sub-agents. */
  waits: boolean;
  last_run: { status: string; error: string | null; category: string | null } | null;
  /** Runs in a row that were broken off by the death of a scheduler. */
  lost_runs: number;
  /** What it said last on its issue. */
  said: string | null;
}

export type Decision =
  | { what: 'wait' }
  /** Its issue has work for it, and nobody has woken it. */
  | { what: 'wake' }
  /** Whoever wanted it does not any more: its run is called off, whose end comes here again. */
  | { what: 'call off' }
  | { what: 'end'; outcome: SubagentOutcome; reason: string | null };

/** A scheduler that dies over the same work again and again does not do so forever. */
const MOST_LOST = 3;

const actionable = ['todo', 'in_progress'];

/** @param orphaned one above it has just been ended otherwise than done */
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

/** With an issue that is still to be worked on and nothing that would wake it, its last run was all of its work. */
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
