import { adapterTraits } from '@acp/contract';
import { said } from '@acp/kernel';
import type { AgentFacts, Proposal } from '../runs/index.ts';
import type { CouncilRow } from './read-councils.ts';

export const COUNCIL_TURN = 'council_turn';

/** Proposes one turn of a participant for admission. @param run_id the ID under which its cost is reserved */
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
    // Programs that receive a task instead of a prompt can't be given a question.
    objection:
      told_by === 'prompt' ? null : said`agents with the adapter ${agent.adapter_type} cannot deliberate`,
  };
}
