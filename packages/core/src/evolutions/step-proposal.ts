import { adapterTraits } from '@acp/contract';
import { type Said, said } from '@acp/kernel';
import type { AgentFacts, Proposal } from '../runs/index.ts';
import type { StepKey } from './next-step.ts';

export const EVOLUTION_STEP = 'evolution_step';

/** Proposes a step of an evolution for admission. @param step null if only checking whether one would be admitted */
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
    // Rehearsals are not work on their issues: no project pays for them, and no one waits for them.
    issue_id: null,
    payload: step === null ? {} : { ...step },
    wake_reason: 'evolution',
    trigger_detail: step === null ? null : `${step.kind} of candidate ${step.candidate_number}`,
    depth: 0,
    objection: changedAdapter(agent),
  };
}

/** Rejects adapters that run a program, which would really act: only a model can be rehearsed. */
function changedAdapter({ adapter_type }: AgentFacts): Said | null {
  return adapterTraits(adapter_type).runs_as === 'model'
    ? null
    : said`agents with the adapter ${adapter_type} can't be rehearsed: they do not use a model`;
}
