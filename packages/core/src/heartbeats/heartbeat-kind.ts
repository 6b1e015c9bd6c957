import type { Actor } from '@acp/contract';
import { together, type Tx } from '@acp/db';
import { cutText, storableText, stated } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import type { Change } from '../activity/index.ts';
import { BUDGET_CATEGORY } from '../budgets/index.ts';
import { writeComment } from '../comments/index.ts';
import {
  checkoutForRuns,
  type IssueRow,
  releaseAfterRun,
  enqueueSettling,
  toIssueRow,
} from '../issues/index.ts';
import {
  type Begun,
  type EndedRun,
  type KindChanges,
  type RunKind,
  type RunRow,
  startedRuns,
} from '../runs/index.ts';
import { taskSessionKept } from '../task-sessions/index.ts';
import { bindWakeups, consumeWakeups, returnWakeups, waitingAfter } from '../wakeups/index.ts';
import { issueObjection } from './issue-objection.ts';

export const HEARTBEAT = 'heartbeat';

// In bytes: within the limit of a comment's schema.
const COMMENT = 1_000_000;

/** An agent wakes up and works on its issue, or on nothing in particular. */
export const heartbeatKind: RunKind = {
  name: HEARTBEAT,
  subject: { type: 'issue', table: 'issues' },
  liveKey: ({ subject_id }) => issueKey(subject_id),
  audience: ({ issue_id }) => ({ topic: issue_id === null ? null : `issue:${issue_id}`, admins_only: false }),
  retries: true,
  begin: beginHeartbeats,
  end: endHeartbeat,
  keepsSession: ({ issue_id }) => issue_id !== null,
  // A cancelled run consumes its wakeups: no other run answers them.
  cancelQueued: async (tx, runs) => {
    await consumeWakeups(
      tx,
      runs.map(({ id }) => id),
    );
    await enqueueSettling(
      tx,
      runs.map(({ issue_id }) => issue_id),
    );
  },
  retry: retryHeartbeat,
  waitingFor: waitingAfter,
};

/** One live run per issue, whatever kind of run works on it. */
export function issueKey(issue_id: string | null): string | null {
  return issue_id === null ? null : `issue:${issue_id}`;
}

/** Checks out the issues and consumes the wakeups. */
async function beginHeartbeats(tx: Tx, started: Promise<readonly RunRow[]>): Promise<Begun[]> {
  const [checkouts, runs] = await together(checkoutForRuns(tx, startedRuns(HEARTBEAT)), started);
  const begun = runs.map(({ id, issue_id }) => (issue_id === null ? { changes: [] } : checkouts.get(id)));
  // Another agent has taken the issue since the admission.
  const without = runs.filter((_, place) => begun[place] === undefined);
  await together(...without.map(async ({ id }) => returnWakeups(tx, id)));
  const refused = { message: stated('issue is checked out by another agent'), category: 'conflict' };
  return begun.map((each) => each ?? { refused });
}

/**
 * Posts the prose as the agent's comment, releases the checkout, keeps the task session and counts for the loop breaker. A
 * cancelled run is no evidence of whether the issue makes progress; neither is one that found no budget left, whose wakeups
 * wait until there is some again. One that a budget cut off in the middle is continued by `settle-budgets`.
 */
async function endHeartbeat(
  tx: Tx,
  { run, subject, result, actor, retried }: EndedRun,
): Promise<KindChanges> {
  const row = subject === null ? null : toIssueRow(subject);
  const issue = row?.deleted_at === null ? row : null;
  const { changed, failure, text } = result;
  const cut_off = failure?.category === BUDGET_CATEGORY;
  const broke = cut_off && !changed;
  if (broke) await returnWakeups(tx, run.id);
  // The end of the breach may come before that of the run.
  if (cut_off) await enqueue(tx, 'settle-budgets', { company_id: run.company_id });
  const counted = !retried && !broke && (changed || run.status !== 'cancelled');
  const [said, released] = await together(
    postProse(tx, actor, issue, run.status === 'cancelled' ? null : text),
    releaseAfterRun(
      tx,
      run,
      {
        changed: counted ? changed : undefined,
        // A retry, and work that waits for a budget, go on by themselves.
        error: run.status === 'failed' && !retried && !cut_off ? run.error : undefined,
      },
      taskSessionKept(run, issue, result.session),
    ),
  );
  // It may have been all the work of a sub-agent; `origin_id` is the agent that spawned it.
  if (row?.origin_kind === 'subagent' && row.origin_id !== null && !retried)
    await enqueue(tx, 'settle-subagents', { agent_id: row.origin_id });
  return { changes: [...said.changes, ...released], dispatched: said.woken };
}

/** Posts as the agent, so it is never woken by it, but whoever it mentions is. */
async function postProse(
  tx: Tx,
  actor: Actor,
  issue: IssueRow | null,
  prose: string | null,
): Promise<{ changes: Change[]; woken: string[] }> {
  const body_markdown = prose === null ? '' : cutText(storableText(prose), COMMENT).trim();
  if (issue === null || body_markdown === '') return { changes: [], woken: [] };
  const { changes, woken } = await writeComment(tx, actor, issue, { body_markdown });
  const dispatched = woken.filter(({ run_id }) => run_id === null).map(({ agent_id }) => agent_id);
  return { changes, woken: dispatched };
}

/** Retries with the run's wakeups, which stay pending if the admission refuses. */
async function retryHeartbeat(
  ...[tx, { run, subject }, admit]: Parameters<NonNullable<RunKind['retry']>>
): Promise<boolean> {
  const issue = subject === null ? null : toIssueRow(subject);
  if (run.issue_id !== null && issue?.deleted_at !== null) return false;
  const wakeup_ids = await returnWakeups(tx, run.id);
  const again = await admit(
    issueObjection({
      held_by_other: (issue?.checked_out_by_agent_id ?? run.agent_id) !== run.agent_id,
      stalled_runs: issue?.stalled_runs ?? 0,
      human: run.depth === 0,
    }),
  );
  if (again === undefined) return false;
  await bindWakeups(
    tx,
    wakeup_ids.map((wakeup_id) => ({ wakeup_id, run_id: again.id })),
  );
  return true;
}
