import type { Actor, Run } from '@acp/contract';
import { type Tx, liveRunStatuses } from '@acp/db';
import { conflict, forbidden, invalid, notFound } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { causeDepth, humanActor } from '../activity/index.ts';
import { budgetHeld } from '../agents/index.ts';
import { agentFactColumns, type AgentFacts, agentPresent, findRun, presentRun } from '../runs/index.ts';
import { admitHeartbeats, type WantedHeartbeat } from './admit-heartbeats.ts';
import { issueKey } from './heartbeat-kind.ts';
import { readWork, type Work } from './plan-runs.ts';

/**
 * Creates a run of the agent now (decisions 7.35): on the issue of its oldest pending wakeup, else on its most urgent
 * actionable issue, else, if it has none at all, without an issue. If all its work has live runs, returns one of these. At
 * the concurrency limit the run stays queued.
 * @throws conflict if the agent may not be woken or during an emergency stop
 */
export async function invokeAgent(tx: Tx, actor: Actor, agent: { id: string }): Promise<Run> {
  const work = await readWork(tx, agent.id, 1);
  if (work === undefined) throw notFound();
  const wanted = selectWork(work, actor);
  if (wanted.issue_id === null && work.busy_run_id !== null) {
    const busy = await findRun(tx, work.busy_run_id);
    if (busy) return presentRun(busy, actor);
  }
  return admitOne(tx, actor, work, wanted);
}

/**
 * Runs the assignee on the issue, or returns its live run.
 * @param model replaces the agent's own, for this run alone
 * @throws invalid without an assignee; forbidden for an agent that names a model; conflict if a model is named and a run is
 * live, if the assignee may not be woken, or if another agent has checked out the issue
 */
export async function triggerIssue(
  tx: Tx,
  actor: Actor,
  issue: { id: string; assignee_agent_id: string | null },
  model?: string,
): Promise<Run> {
  // People have decided what an agent may cost.
  if (model !== undefined && !humanActor(actor)) throw forbidden('only people can choose a model');
  if (issue.assignee_agent_id === null) throw invalid('issue has no assignee');
  const { rows } = await tx.execute<TriggerFacts>(sql`
    select ${agentFactColumns}, i.stalled_runs, ${budgetHeld(sql`array[i.project_id]`)} as project_over_budget,
      coalesce(i.checked_out_by_agent_id, a.id) <> a.id as held_by_other,
      (select r.id from heartbeat_runs r where r.issue_id = i.id and r.status in ${liveRunStatuses} limit 1) as live_run_id,
      w.id as wakeup_id, coalesce(w.depth, 0) as wakeup_depth
    from agents a join issues i on i.id = ${issue.id}
    left join wakeup_requests w on w.agent_id = a.id and w.status = 'pending' and w.run_id is null
      and coalesce(w.issue_id, '00000000-0000-0000-0000-000000000000'::uuid) = i.id
    where a.id = ${issue.assignee_agent_id} and ${agentPresent}`);
  const [facts] = rows;
  if (facts === undefined) throw conflict('the assignee no longer exists');
  const live = facts.live_run_id === null ? undefined : await findRun(tx, facts.live_run_id);
  if (live && model !== undefined) throw conflict('the issue has a live run, which keeps its model');
  if (live) return presentRun(live, actor);
  const over_budget = facts.over_budget || facts.project_over_budget;
  return admitOne(
    tx,
    actor,
    { ...facts, over_budget },
    {
      issue_id: issue.id,
      wake_reason: 'manual',
      trigger_detail: `triggered by ${actor.name}`,
      depth: depthOf(actor, facts.wakeup_depth),
      stalled_runs: facts.stalled_runs,
      held_by_other: facts.held_by_other,
      human: humanActor(actor),
      ...(model === undefined ? {} : { payload: { model } }),
      wakeup_ids: facts.wakeup_id === null ? [] : [facts.wakeup_id],
    },
  );
}

type TriggerFacts = { [K in keyof AgentFacts]: AgentFacts[K] } & {
  project_over_budget: boolean;
  stalled_runs: number;
  held_by_other: boolean;
  live_run_id: string | null;
  wakeup_id: string | null;
  wakeup_depth: number;
};

function selectWork(work: Work, actor: Actor): WantedHeartbeat {
  const [wakeup] = work.wakeups;
  const [issue] = work.issues;
  const chosen = wakeup?.issue_id ? { id: wakeup.issue_id, stalled_runs: wakeup.stalled_runs } : issue;
  return {
    issue_id: chosen?.id ?? null,
    wake_reason: 'manual',
    trigger_detail: `invoked by ${actor.name}`,
    depth: depthOf(actor, wakeup?.depth ?? 0),
    stalled_runs: chosen?.stalled_runs ?? 0,
    held_by_other: false,
    human: humanActor(actor),
    wakeup_ids: wakeup === undefined ? [] : [wakeup.id],
  };
}

/** A human who requests a run starts a new chain of causes. */
function depthOf(actor: Actor, wakeup_depth: number): number {
  if (humanActor(actor)) return 0;
  return Math.max(wakeup_depth, causeDepth(actor));
}

async function admitOne(tx: Tx, actor: Actor, agent: AgentFacts, wanted: WantedHeartbeat): Promise<Run> {
  const { admitted, refused } = await admitHeartbeats(tx, actor, agent, [wanted]);
  const [made] = admitted;
  if (made) return presentRun(made.run, actor);
  const [refusal] = refused;
  if (refusal) throw conflict(refusal.reason);
  // Another transaction has just created the issue's live run: the unique index dropped ours.
  const { rows } = await tx.execute<{ id: string }>(sql`
    select id from heartbeat_runs where live_key = ${issueKey(wanted.issue_id)} and status in ${liveRunStatuses}`);
  const other = rows[0] && (await findRun(tx, rows[0].id));
  if (!other) throw conflict('a run of the issue has just ended');
  return presentRun(other, actor);
}
