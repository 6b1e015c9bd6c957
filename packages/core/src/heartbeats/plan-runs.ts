import { type Tx, actionableIssueStatuses, liveRunStatuses } from '@acp/db';
import { sql } from 'drizzle-orm';
import { budgetHeld } from '../agents/index.ts';
import { actionableFor, mostUrgentFirst, notTrashed } from '../issues/index.ts';
import { agentFactColumns, type AgentFacts, agentPresent } from '../runs/index.ts';
import { MAX_STALLED_RUNS } from '../wakeups/index.ts';
import type { WantedHeartbeat } from './admit-heartbeats.ts';

/**
 * A pending wakeup that no run has yet and that could get one now: without an issue, or with one that is not checked out and,
 * if agents wake each other, not stalled.
 */
export interface WaitingWakeup {
  id: string;
  issue_id: string | null;
  reason: string;
  depth: number;
  stalled_runs: number;
}

/** Everything that an agent could run now. */
export interface Work extends AgentFacts {
  live_runs: number;
  /** Oldest first. */
  wakeups: WaitingWakeup[];
  /** Assigned and actionable issues that no one has checked out, most urgent first. */
  issues: { id: string; stalled_runs: number }[];
  /** A live run of the agent on one of its actionable issues. */
  busy_run_id: string | null;
  /**
   * Queued runs, as many as the agent has room for: some of their jobs may be used up, having found it blocked or full. Their
   * waiting time is no indication of that: a pause may be over within a second.
   */
  unclaimed: string[];
}

const live = sql`status in ${liveRunStatuses}`;

// One live run per issue: other work on it waits for that run to end.
const withoutRun = sql`not exists (select from heartbeat_runs r where r.issue_id = i.id and r.${live})`;
// No exceeded budget of the issue's project; those of the agent and the company are facts of the agent.
const affordable = sql`not ${budgetHeld(sql`array[i.project_id]`)}`;
// Issues that another agent has checked out are not available.
const free = sql`${notTrashed('i')} and ${affordable} and coalesce(i.checked_out_by_agent_id, a.id) = a.id and ${withoutRun}`;

/**
 * Undefined if the agent is in the trash or does not exist. One statement; at most `limit` wakeups. The issue of each is looked up by
 * itself: with statistics from before a rush PostgreSQL would join all wakeups with all issues.
 */
export async function readWork(tx: Tx, agent_id: string, limit: number): Promise<Work | undefined> {
  const { rows } = await tx.execute<{ [K in keyof Work]: Work[K] }>(sql`
    select ${agentFactColumns},
      (select count(*)::int from heartbeat_runs r where r.agent_id = a.id and r.${live}) as live_runs,
      coalesce((
        select jsonb_agg(to_jsonb(waiting) order by created_at, id) from (
          select w.id, w.issue_id, w.reason, w.depth, w.created_at, coalesce(i.stalled_runs, 0) as stalled_runs
          from wakeup_requests w left join lateral (select * from issues where id = w.issue_id limit 1) i on true
          where w.agent_id = a.id and w.status = 'pending' and w.run_id is null
            and (w.issue_id is null or (${free} and (w.depth = 0 or i.stalled_runs < ${MAX_STALLED_RUNS})))
          order by w.created_at, w.id limit ${limit}
        ) waiting), '[]') as wakeups,
      coalesce((
        select jsonb_agg(jsonb_build_object('id', id, 'stalled_runs', stalled_runs) order by place) from (
          select i.id, i.stalled_runs, row_number() over (order by ${mostUrgentFirst}) as place
          from issues i where ${actionableFor(sql`a.id`)} and ${withoutRun} and ${affordable}
          order by place limit ${limit} + a.max_issues_per_run
        ) assigned), '[]') as issues,
      (select r.id from heartbeat_runs r join issues i on i.id = r.issue_id
        where r.agent_id = a.id and r.${live} and i.assignee_agent_id = a.id and i.status in ${actionableIssueStatuses}
        order by r.created_at, r.id limit 1) as busy_run_id,
      coalesce((
        select jsonb_agg(id) from (
          select r.id from heartbeat_runs r
          where r.agent_id = a.id and r.status = 'queued'
          order by r.created_at, r.id
          limit greatest(0, a.max_concurrent_runs - (
            select count(*) from heartbeat_runs r where r.agent_id = a.id and r.status = 'running'))
        ) offered), '[]') as unclaimed
    from agents a where a.id = ${agent_id} and ${agentPresent}`);
  return rows[0];
}

/**
 * The runs that a dispatch should create: issues of wakeups first, oldest wakeup first. A wakeup for no issue in particular
 * (a heartbeat) starts up to `max_issues_per_run` runs on the agent's actionable issues; if there are none, it is attached to
 * another run, or gets a run without an issue if the agent does nothing else.
 */
export function planRuns(work: Work): WantedHeartbeat[] {
  const capacity = work.max_concurrent_runs - work.live_runs;
  const planned = new Map<string, WantedHeartbeat>();
  const wanted = work.wakeups.filter((wakeup) => wakeup.issue_id !== null);
  const heartbeat = work.wakeups.find((wakeup) => wakeup.issue_id === null);
  for (const wakeup of wanted.slice(0, Math.max(0, capacity))) {
    planned.set(wakeup.issue_id ?? '', wantedFor(wakeup, wakeup.issue_id, wakeup.stalled_runs));
  }
  const all = [...planned.values()];
  if (heartbeat === undefined || capacity <= 0) return all;
  const others = work.issues
    .filter((issue) => !wanted.some(({ issue_id }) => issue_id === issue.id))
    .slice(0, Math.min(capacity - all.length, work.max_issues_per_run))
    .map((issue) => wantedFor(heartbeat, issue.id, issue.stalled_runs));
  const carrier = others[0] ?? all[0];
  if (carrier === undefined) return work.live_runs === 0 ? [wantedFor(heartbeat, null, 0)] : [];
  for (const other of others.slice(1)) other.wakeup_ids = [];
  if (others.length === 0) carrier.wakeup_ids.push(heartbeat.id);
  return [...all, ...others];
}

function wantedFor(wakeup: WaitingWakeup, issue_id: string | null, stalled_runs: number): WantedHeartbeat {
  return {
    issue_id,
    wake_reason: wakeup.reason,
    trigger_detail: null,
    depth: wakeup.depth,
    stalled_runs,
    held_by_other: false,
    // A wakeup without an agent as its cause was requested by a human, or by the clock for issues that are not stalled.
    human: wakeup.depth === 0,
    wakeup_ids: [wakeup.id],
  };
}
