import { adapterTraits } from '@acp/contract';
import type { AgentFacts, Proposal } from '../runs/index.ts';
import type { StepKey } from './next-step.ts';

export const EVOLUTION_STEP = 'evolution_step';

/** A step of an evolution, to the admission. @param step null where it is only asked whether there may be one */
export function stepProposal(
  evolution: { id: string },
  agent: AgentFacts,
  run_id: string,
  step: StepKey | null,
): Proposal {
  return {
    id: run_id,
    kind: EVOLUTION_STEP,
    subject_id: evolution.id,
    // Rehearsals are no work on their issues: no project pays for them, and nobody waits for their end.
    issue_id: null,
    payload: step === null ? {} : { ...step },
    wake_reason: 'evolution',
    trigger_detail: step === null ? null : `${step.kind} of candidate ${step.candidate_number}`,
    depth: 0,
    objection: changedAdapter(agent),
  };
}

/** A program would act: only a model can be told what its words would have done. */
function changedAdapter({ adapter_type }: AgentFacts): string | null {
  return adapterTraits(adapter_type).runs_as === 'model'
    ? null
    : `agents with the adapter ${adapter_type} can't be rehearsed: no model computes them`;
}
