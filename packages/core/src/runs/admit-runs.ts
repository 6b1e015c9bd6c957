import { MAX_CAUSE_DEPTH, type Actor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { currentTraceparent, type Said, said, saidValue, stated } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { BUDGET_EXCEEDED, isWakeable } from '../agents/index.ts';
import { READ_ONLY } from '../settings/index.ts';
import type { AgentFacts } from './agent-facts.ts';
import { runRow } from './rows.ts';
import { queuedChange } from './run-changes.ts';
import { runKind } from './run-kinds.ts';
import type { RunRow } from './types.ts';

/** A run that someone wants. */
export interface Proposal {
  /** Set by the caller if something else refers to it; a second run with the same id is not created. */
  id?: string;
  kind: string;
  /** The row that the run is about, in the table that the kind names. */
  subject_id: string | null;
  /** The issue that the run counts towards, if any. */
  issue_id: string | null;
  /** Small facts specific to the kind, such as ids; read again at the claim. */
  payload?: Record<string, unknown>;
  wake_reason: string;
  trigger_detail: string | null;
  /** Number of consecutive agent-made causes behind it; 0 if a human or the clock wants it. */
  depth: number;
  /** The subject's own reason to refuse, in plain text; the kernel's checks run first. */
  objection: string | Said | null;
  retry_of_run_id?: string;
  /** Only this user may see its content. */
  private_to_user_id?: string | null;
}

export interface Admission<P extends Proposal = Proposal> {
  /** The proposals that passed and created a run, each with that run. */
  admitted: { run: RunRow; proposal: P }[];
  refused: { proposal: P; reason: string | Said }[];
}

type Check = (agent: AgentFacts, proposal: Proposal) => string | Said | null;

/**
 * THE admission (decisions 8.1): every path to a run of whatever kind passes these checks, in this order; the first objection
 * decides. Uniqueness of the live key is left to the unique index, as nothing else can guarantee it.
 */
const checks: readonly Check[] = [
  // Checked before the status: an agent that a budget has paused gives this answer (decisions 7.16).
  (agent) => (agent.over_budget ? BUDGET_EXCEEDED : null),
  (agent) => (isWakeable(agent.status) ? null : said`agent is ${saidValue(agent.status)}`),
  (agent) => (agent.read_only ? READ_ONLY : null),
  (agent) => (agent.runs_paused ? stated('runs are paused on this instance') : null),
  // Runs would fail without a call, and the loop breaker would count them. A manual request gets its run, and the reason.
  ({ provider_paused: paused }, { wake_reason: reason }) =>
    paused && reason !== 'manual' ? stated('the provider is paused until its quota is reset') : null,
  (_, { depth }) =>
    depth > MAX_CAUSE_DEPTH ? stated('too many agents have woken each other in a row') : null,
  (_, { objection }) => objection,
];

/**
 * Creates a `queued` run with its job for each proposal that passes, in three statements regardless of their number. A
 * proposal whose live key already has a live run, or whose lost run already has its retry, yields nothing.
 */
export async function admitRuns<P extends Proposal>(
  tx: Tx,
  actor: Actor,
  agent: AgentFacts,
  proposals: readonly P[],
): Promise<Admission<P>> {
  const refused: Admission<P>['refused'] = [];
  const passed = new Map<string, P>();
  for (const proposal of proposals) {
    const reason = admissionRefusal(agent, proposal);
    if (reason === null) passed.set(proposal.id ?? crypto.randomUUID(), proposal);
    else refused.push({ proposal, reason });
  }
  if (passed.size === 0) return { admitted: [], refused };
  const runs = await insertRuns(tx, agent, passed);
  await enqueueMany(
    tx,
    'execute-run',
    runs.map(({ id }) => ({ run_id: id })),
  );
  await recordChanges(tx, actor, runs.map(queuedChange));
  return { admitted: runs.map((run) => ({ run, proposal: passed.get(run.id)! })), refused };
}

/** Why the proposal would be refused now; null if it would pass. */
export function admissionRefusal(agent: AgentFacts, proposal: Proposal): string | Said | null {
  for (const check of checks) {
    const reason = check(agent, proposal);
    if (reason !== null) return reason;
  }
  return null;
}

async function insertRuns(
  tx: Tx,
  agent: AgentFacts,
  passed: ReadonlyMap<string, Proposal>,
): Promise<RunRow[]> {
  const wanted = [...passed].map(([id, proposal]) => {
    const kind = runKind(proposal.kind);
    const { subject_id, payload = {} } = proposal;
    const live_key = kind.liveKey({ agent_id: agent.id, subject_id, payload });
    const subject_type = subject_id === null ? null : (kind.subject?.type ?? null);
    const adapter_type = kind.by_model ? 'llm' : agent.adapter_type;
    return { ...proposal, id, payload, live_key, subject_type, adapter_type };
  });
  const { rows } = await tx.execute(sql`
    insert into heartbeat_runs
      (id, company_id, agent_id, kind, subject_type, subject_id, live_key, payload, issue_id, wake_reason, trigger_detail,
        adapter_type, retry_of_run_id, depth, private_to_user_id, traceparent)
    select p.id, ${agent.company_id}, ${agent.id}, p.kind, p.subject_type, p.subject_id, p.live_key, p.payload, p.issue_id,
      p.wake_reason, p.trigger_detail, p.adapter_type, p.retry_of_run_id, p.depth,
      p.private_to_user_id, ${currentTraceparent()}
    from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as p(
      id uuid, kind text, subject_type text, subject_id uuid, live_key text, payload jsonb, issue_id uuid,
      wake_reason text, trigger_detail text, adapter_type text, retry_of_run_id uuid, depth int,
      private_to_user_id uuid)
    on conflict do nothing
    returning *`);
  return rows.map(runRow);
}
