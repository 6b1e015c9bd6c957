import { describe, expect, it } from '@jest/globals';
import { planRuns, type WaitingWakeup, type Work } from './plan-runs.ts';

const agent: Work = {
  id: 'agent',
  company_id: 'company',
  status: 'idle',
  adapter_type: 'llm',
  max_concurrent_runs: 10,
  max_issues_per_run: 1,
  runs_paused: false,
  read_only: false,
  over_budget: false,
  provider_paused: false,
  live_runs: 0,
  wakeups: [],
  issues: [],
  busy_run_id: null,
  unclaimed: [],
};
const wakeup = (id: string, issue_id: string | null, reason = 'comment'): WaitingWakeup => ({
  id,
  issue_id,
  reason,
  depth: 0,
  stalled_runs: 0,
});
const heartbeat = wakeup('tick', null, 'schedule');
const issue = (id: string) => ({ id, stalled_runs: 0 });
const plan = (work: Partial<Work>) =>
  planRuns({ ...agent, ...work }).map((run) => ({ issue: run.issue_id, wakeups: run.wakeup_ids }));

describe('the plan of a dispatch', () => {
  it('without wakeups is empty, whatever is assigned', () => {
    expect(plan({ issues: [issue('a')] })).toEqual([]);
  });

  it('gives each wakeup its run, oldest first, within the room that live runs leave', () => {
    const wakeups = [wakeup('1', 'a'), wakeup('2', 'b'), wakeup('3', 'c')];
    expect(plan({ wakeups, max_concurrent_runs: 3, live_runs: 1 })).toEqual([
      { issue: 'a', wakeups: ['1'] },
      { issue: 'b', wakeups: ['2'] },
    ]);
    expect(plan({ wakeups, max_concurrent_runs: 2, live_runs: 5 })).toEqual([]);
  });

  it('starts for a heartbeat as many of the most urgent issues as one heartbeat may', () => {
    const issues = [issue('a'), issue('b'), issue('c')];
    expect(plan({ wakeups: [heartbeat], issues })).toEqual([{ issue: 'a', wakeups: ['tick'] }]);
    expect(plan({ wakeups: [heartbeat], issues, max_issues_per_run: 2 })).toEqual([
      { issue: 'a', wakeups: ['tick'] },
      { issue: 'b', wakeups: [] },
    ]);
    const room = { max_issues_per_run: 3, max_concurrent_runs: 2 };
    expect(plan({ wakeups: [heartbeat], issues, ...room })).toHaveLength(2);
  });

  it('gives a heartbeat with nothing to do a run without an issue, unless the agent is at work', () => {
    expect(plan({ wakeups: [heartbeat] })).toEqual([{ issue: null, wakeups: ['tick'] }]);
    expect(plan({ wakeups: [heartbeat], live_runs: 1 })).toEqual([]);
  });

  it('lets a heartbeat go along with another wakeup’s run, and takes no issue twice', () => {
    const wakeups = [wakeup('1', 'a'), heartbeat];
    expect(plan({ wakeups, issues: [issue('a')] })).toEqual([{ issue: 'a', wakeups: ['1', 'tick'] }]);
    expect(plan({ wakeups, issues: [issue('a'), issue('b')] })).toEqual([
      { issue: 'a', wakeups: ['1'] },
      { issue: 'b', wakeups: ['tick'] },
    ]);
  });
});
