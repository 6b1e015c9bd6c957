import { adapterTraits } from '@acp/contract';
import type { AgentFacts, Proposal } from '../runs/index.ts';
import type { CouncilRow } from './read-councils.ts';

export const COUNCIL_TURN = 'council_turn';

/** One turn of a participant, to the admission. @param run_id under which its money is reserved */
export function turnProposal(
  session: Pick<CouncilRow, 'id' | 'issue_id' | 'depth'>,
  agent: AgentFacts,
  run_id: string,
): Proposal {
  const { told_by } = adapterTraits(agent.adapter_type);
  return {
    id: run_id,
    kind: COUNCIL_TURN,
    subject_id: session.id,
    issue_id: session.issue_id,
    wake_reason: 'council',
    trigger_detail: null,
    depth: session.depth,
    // Programs that are told by a task have no place for a question in it.
    objection:
      told_by === 'prompt' ? null : `agents with the adapter ${agent.adapter_type} do not deliberate`,
  };
}
