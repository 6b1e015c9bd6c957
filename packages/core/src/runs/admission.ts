import type { Actor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { BUDGET_EXCEEDED, isWakeable } from '../agents/index.ts';
import { bindWakeupsToRuns, MAX_STALLED_RUNS, MAX_WAKE_DEPTH } from '../wakeups/index.ts';
import { queuedChange } from './changes.ts';
import { runRow } from './rows.ts';
import type { RunRow } from './types.ts';

/** What the checks know of the agent, as read by `agentFacts`. */
export interface AgentFacts {
  id: string;
  company_id: string;
  status: string;
  /** As `effectiveAdapter` has it. */
  adapter_type: string;
  max_concurrent_runs: number;
  max_issues_per_run: number;
  /** The emergency stop (decisions 7.7). */
  runs_paused: boolean;
  /** A breached budget of the company or the agent holds it back. */
  over_budget: boolean;
  /** The quota of its provider is used up, and not reset yet. */
  provider_paused: boolean;
}

/** A run that somebody wants. */
export interface Proposal {
  issue_id: string | null;
  wake_reason: string;
  trigger_detail: string | null;
  /** Agent-made causes in a row behind it; 0 where a human or the clock wants it. */
  depth: number;
  /** Runs in a row on the issue that changed nothing; 0 without an issue. */
  stalled_runs: number;
  /** Another agent has the issue checked out. */
  held_by_other: boolean;
  /** A human wants exactly this run: the loop breaker lets it pass. */
  human: boolean;
  wakeup_ids: string[];
  retry_of_run_id?: string;
}

export interface Admission {
  runs: RunRow[];
  refused: { proposal: Proposal; reason: string }[];
}

type Check = (agent: AgentFacts, proposal: Proposal) => string | undefined;

/**
 * THE admission (decisions 8.1): every path to a run passes these, in this order; the first that objects decides.
 * That the issue has no other live run is left to the unique index, which alone can know.
 */
const checks: readonly Check[] = [
  // Ahead of the status: an agent that a budget has paused answers so (decisions 7.16).
  (agent) => (agent.over_budget ? BUDGET_EXCEEDED : undefined),
  (agent) => (isWakeable(agent.status) ? undefined : `agent is ${agent.status.replaceAll('_', ' ')}`),
  (agent) => (agent.runs_paused ? 'runs are paused on this instance' : undefined),
  // Runs would fail without a call, and the loop breaker would count them. Who asks by hand gets the run, and the reason.
  ({ provider_paused: paused }, { wake_reason: reason }) =>
    paused && reason !== 'manual' ? 'the provider is paused until its quota is reset' : undefined,
  (_, { held_by_other: held }) => (held ? 'issue is checked out by another agent' : undefined),
  (_, { depth }) => (depth > MAX_WAKE_DEPTH ? 'too many agents woke each other in a row' : undefined),
  (_, { stalled_runs: stalled, human }) =>
    stalled >= MAX_STALLED_RUNS && !human ? 'issue needs human attention' : undefined,
];

/**
 * Creates the proposed runs that pass, `queued`, each with its wakeups bound and its job, in three or four statements
 * whatever their number. A proposal whose issue has a live run, or whose lost run has its retry, yields nothing.
 */
export async function admitRuns(
  tx: Tx,
  actor: Actor,
  agent: AgentFacts,
  proposals: readonly Proposal[],
): Promise<Admission> {
  const refused: Admission['refused'] = [];
  const passed: (Proposal & { id: string })[] = [];
  for (const proposal of proposals) {
    const reason = refusalOf(agent, proposal);
    if (reason === undefined) passed.push({ ...proposal, id: crypto.randomUUID() });
    else refused.push({ proposal, reason });
  }
  if (passed.length === 0) return { runs: [], refused };
  const runs = await insertRuns(tx, agent, passed);
  const bindings = runs.flatMap((run) => {
    const ids = passed.find(({ id }) => id === run.id)?.wakeup_ids ?? [];
    return ids.map((wakeup_id) => ({ wakeup_id, run_id: run.id }));
  });
  if (bindings.length > 0) await bindWakeupsToRuns(tx, bindings);
  await enqueueMany(
    tx,
    'execute-run',
    runs.map(({ id }) => ({ run_id: id })),
  );
  await recordChanges(tx, actor, runs.map(queuedChange));
  return { runs, refused };
}

export function refusalOf(agent: AgentFacts, proposal: Proposal): string | undefined {
  for (const check of checks) {
    const reason = check(agent, proposal);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

async function insertRuns(
  tx: Tx,
  agent: AgentFacts,
  passed: readonly (Proposal & { id: string })[],
): Promise<RunRow[]> {
  const { rows } = await tx.execute(sql`
    insert into heartbeat_runs
      (id, company_id, agent_id, issue_id, wake_reason, trigger_detail, adapter_type, retry_of_run_id, depth)
    select p.id, ${agent.company_id}, ${agent.id}, p.issue_id, p.wake_reason, p.trigger_detail,
      ${agent.adapter_type}, p.retry_of_run_id, p.depth
    from jsonb_to_recordset(${JSON.stringify(passed)}::jsonb) as p(
      id uuid, issue_id uuid, wake_reason text, trigger_detail text, retry_of_run_id uuid, depth int)
    on conflict do nothing
    returning *`);
  return rows.map(runRow);
}
