import { adapterTraits } from '@acp/contract';
import { said } from '@acp/kernel';
import type { AgentFacts, Proposal } from '../runs/index.ts';

export const COMPILE = 'compile';

/** Proposes a portion of a compilation for admission. */
export function compileProposal(
  index: { id: string },
  agent: AgentFacts,
  run_id: string,
  batch: number,
): Proposal {
  const { runs_as } = adapterTraits(agent.adapter_type);
  return {
    id: run_id,
    kind: COMPILE,
    subject_id: index.id,
    issue_id: null,
    payload: { batch },
    wake_reason: 'schedule',
    trigger_detail: `portion ${batch + 1} of the compiled index`,
    depth: 0,
    objection:
      runs_as === 'model'
        ? null
        : said`agents with the adapter ${agent.adapter_type} cannot be compiled: they do not use a model`,
  };
}
