import type { Actor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { type Admission, admitRuns, type AgentFacts, type Proposal } from '../runs/index.ts';
import { bindWakeups } from '../wakeups/index.ts';
import { HEARTBEAT } from './heartbeat-kind.ts';
import { type IssueFacts, issueObjection } from './issue-objection.ts';

/** A heartbeat that someone wants. */
export interface WantedHeartbeat extends IssueFacts {
  issue_id: string | null;
  wake_reason: string;
  trigger_detail: string | null;
  /** Number of consecutive agent-made causes behind it; 0 if a human or the clock wants it. */
  depth: number;
  wakeup_ids: string[];
  /** Set if someone chose the model of this run. */
  payload?: { model: string };
}

/** `admitRuns` for heartbeats, binding the wakeups of those that pass. One statement more than the admission. */
export async function admitHeartbeats(
  tx: Tx,
  actor: Actor,
  agent: AgentFacts,
  wanted: readonly WantedHeartbeat[],
): Promise<Admission<Proposal & WantedHeartbeat>> {
  const admission = await admitRuns(
    tx,
    actor,
    agent,
    wanted.map((each) => ({
      ...each,
      kind: HEARTBEAT,
      subject_id: each.issue_id,
      objection: issueObjection(each),
    })),
  );
  const bindings = admission.admitted.flatMap(({ run, proposal }) =>
    proposal.wakeup_ids.map((wakeup_id) => ({ wakeup_id, run_id: run.id })),
  );
  if (bindings.length > 0) await bindWakeups(tx, bindings);
  return admission;
}
