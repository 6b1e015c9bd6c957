import { stated } from '@acp/kernel';
import { MAX_STALLED_RUNS } from '../wakeups/index.ts';

export interface IssueFacts {
  /** Another agent has the issue checked out. */
  held_by_other: boolean;
  /** Number of consecutive runs on the issue that changed nothing; 0 without an issue. */
  stalled_runs: number;
  /** A human wants exactly this run: the loop breaker lets it through. */
  human: boolean;
}

/** The issue's objection to a run on it: part of the one admission, in plain text for the caller. */
export function issueObjection({ held_by_other, stalled_runs, human }: IssueFacts): string | null {
  if (held_by_other) return stated('issue is checked out by another agent');
  return stalled_runs >= MAX_STALLED_RUNS && !human ? stated('issue needs human attention') : null;
}
