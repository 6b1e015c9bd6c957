/** Decides an evolution's next step from its rows (GEPA: reflective evolution along a Pareto front). Pure. */
import { type CandidateStatus, type EvolutionStepKind, MINIBATCH } from '@acp/contract';
import { stated } from '@acp/kernel';
import { drawnParent, minibatchOf } from './draw.ts';

/** Ordinal of a reflection, which is about several issues. */
const NO_INSTANCE = -1;
const ATTEMPTS = 3;
const MOST_CANDIDATES = 16;
/** Mean score of a minibatch from which there is nothing left to improve. */
const PERFECT = 0.995;
/** Failures that would recur on another attempt. */
const FINAL = new Set(['budget', 'config', 'quota', 'auth']);

export interface StepKey {
  candidate_number: number;
  kind: EvolutionStepKind;
  ordinal: number;
}

export interface StepState extends StepKey {
  status: string;
  attempts: number;
  score: number | null;
  /** USD of all its attempts. */
  cost_usd: number;
  error: string | null;
  error_category: string | null;
}

interface CandidateState {
  number: number;
  parent_number: number | null;
  status: CandidateStatus;
  minibatch: readonly number[];
}

export interface EvolutionState {
  id: string;
  max_rollouts: number;
  max_cost_usd: number;
  instances: readonly { ordinal: number; split: string }[];
  /** Ordered by number. */
  candidates: readonly CandidateState[];
  steps: readonly StepState[];
  /** Maximum number of steps in progress at the same time. */
  parallel: number;
}

export type Step =
  | { what: 'wait' }
  | { what: 'ask'; steps: StepKey[] }
  | {
      what: 'settle';
      number: number;
      status: CandidateStatus;
      score?: number;
      cost_usd?: number;
      reason?: string;
    }
  | { what: 'propose'; parent_number: number; minibatch: number[] }
  | { what: 'finish'; note: string | null }
  | { what: 'fail'; error: string };

export function nextStep(state: EvolutionState): Step {
  const { candidates, steps } = state;
  const hopeless = steps.find((step) => isFinal(step) || (step.candidate_number === 0 && isGivenUp(step)));
  if (hopeless !== undefined) return { what: 'fail', error: hopeless.error ?? `a ${hopeless.kind} failed` };
  if (spentOf(steps) >= state.max_cost_usd)
    return { what: 'finish', note: stated('its limit of cost is reached') };
  const newest = candidates.at(-1);
  if (newest === undefined) return { what: 'fail', error: stated('it has no prompt to begin with') };
  switch (newest.status) {
    case 'proposed':
      return afterProposal(state, newest);
    case 'trial':
      return afterTrial(state, newest);
    case 'scoring':
      return afterScoring(state, newest);
    default:
      return goOn(state);
  }
}

/** Total cost of all steps. */
export const spentOf = (steps: readonly { cost_usd: number }[]): number =>
  steps.reduce((sum, { cost_usd }) => sum + cost_usd, 0);

const isGivenUp = ({ status, attempts }: StepState): boolean => status === 'failed' && attempts >= ATTEMPTS;
const isFinal = (step: StepState): boolean =>
  step.status === 'failed' && FINAL.has(step.error_category ?? '');

/** Scores the parent on the minibatch, then requests a reflection on that. */
function afterProposal(state: EvolutionState, { number, parent_number, minibatch }: CandidateState): Step {
  const parent = evaluate(state, parent_number ?? 0, minibatch);
  if ('open' in parent) return ask(state, parent.open);
  if (parent.mean >= PERFECT)
    return {
      what: 'settle',
      number,
      status: 'rejected',
      reason: stated('Nothing was left to mend on its issues.'),
    };
  const reflection = stepOf(state, { candidate_number: number, kind: 'reflect', ordinal: NO_INSTANCE });
  if (reflection !== undefined && isGivenUp(reflection))
    return {
      what: 'settle',
      number,
      status: 'rejected',
      reason: stated('The reflection gave no usable prompt.'),
    };
  return ask(state, [{ candidate_number: number, kind: 'reflect', ordinal: NO_INSTANCE }]);
}

/** Keeps a candidate only if it beats its parent on the issues it was written for. */
function afterTrial(state: EvolutionState, { number, parent_number, minibatch }: CandidateState): Step {
  const own = evaluate(state, number, minibatch);
  if ('open' in own) return ask(state, own.open);
  const parent = evaluate(state, parent_number ?? 0, minibatch);
  if ('open' in parent) return ask(state, parent.open);
  return { what: 'settle', number, status: own.mean > parent.mean ? 'scoring' : 'rejected' };
}

function afterScoring(state: EvolutionState, { number }: CandidateState): Step {
  const own = evaluate(state, number, heldOut(state));
  if ('open' in own) return ask(state, own.open);
  return { what: 'settle', number, status: 'scored', score: own.mean, cost_usd: own.cost_usd };
}

function goOn(state: EvolutionState): Step {
  const { id, candidates, steps, instances } = state;
  const number = candidates.length;
  const rollouts = steps.filter(({ kind }) => kind === 'rollout').length;
  const next = 2 * MINIBATCH + heldOut(state).length;
  if (number >= MOST_CANDIDATES || rollouts + next > state.max_rollouts)
    return { what: 'finish', note: null };
  if (isLearnt(state)) return { what: 'finish', note: null };
  const train = instances.flatMap(({ ordinal, split }) => (split === 'train' ? [ordinal] : []));
  const minibatch = minibatchOf(id, number, train);
  if (minibatch.length === 0)
    return { what: 'fail', error: stated('none of its issues is left to learn from') };
  const scored = candidates.filter(({ status }) => status === 'scored').map((each) => each.number);
  const scores = new Map(
    scored.map((each) => [each, heldOut(state).map((ordinal) => scoreOf(state, each, ordinal) ?? 0)]),
  );
  return { what: 'propose', parent_number: drawnParent(id, number, scores), minibatch };
}

/** Nothing was left to improve while each issue was used twice: no candidate needed a reflection. */
function isLearnt({ candidates, steps, instances }: EvolutionState): boolean {
  const rounds = 2 * Math.ceil(instances.filter(({ split }) => split === 'train').length / MINIBATCH);
  return (
    candidates.length > rounds &&
    candidates
      .slice(-rounds)
      .every(
        ({ number }) => !steps.some((step) => step.kind === 'reflect' && step.candidate_number === number),
      )
  );
}

const heldOut = ({ instances }: EvolutionState): number[] =>
  instances.flatMap(({ ordinal, split }) => (split === 'held_out' ? [ordinal] : []));

const stepOf = ({ steps }: EvolutionState, key: StepKey): StepState | undefined =>
  steps.find(
    (step) =>
      step.candidate_number === key.candidate_number &&
      step.kind === key.kind &&
      step.ordinal === key.ordinal,
  );

/** Score of a candidate on an instance; 0 if all attempts under this prompt failed. */
function scoreOf(state: EvolutionState, candidate_number: number, ordinal: number): number | undefined {
  const judge = stepOf(state, { candidate_number, kind: 'judge', ordinal });
  if (judge?.status === 'done') return judge.score ?? 0;
  const rollout = stepOf(state, { candidate_number, kind: 'rollout', ordinal });
  return [judge, rollout].some((step) => step !== undefined && isGivenUp(step)) ? 0 : undefined;
}

/** The candidate's means over these instances, or the steps needed to determine them. */
function evaluate(
  state: EvolutionState,
  candidate_number: number,
  ordinals: readonly number[],
): { open: StepKey[] } | { mean: number; cost_usd: number } {
  // An issue may have been deleted permanently in the meantime.
  const present = ordinals.filter((ordinal) => state.instances.some((each) => each.ordinal === ordinal));
  const open = present.flatMap((ordinal): StepKey[] => {
    if (scoreOf(state, candidate_number, ordinal) !== undefined) return [];
    const rollout = { candidate_number, kind: 'rollout', ordinal } as const;
    return stepOf(state, rollout)?.status === 'done' ? [{ ...rollout, kind: 'judge' }] : [rollout];
  });
  if (open.length > 0) return { open };
  const count = Math.max(1, present.length);
  const sum = (of: (ordinal: number) => number): number =>
    present.reduce((total, ordinal) => total + of(ordinal), 0);
  return {
    mean: sum((ordinal) => scoreOf(state, candidate_number, ordinal) ?? 0) / count,
    cost_usd:
      sum((ordinal) => stepOf(state, { candidate_number, kind: 'rollout', ordinal })?.cost_usd ?? 0) / count,
  };
}

/** Requests as many steps as there is room for besides those in progress. */
function ask(state: EvolutionState, open: readonly StepKey[]): Step {
  const room = state.parallel - state.steps.filter(({ status }) => status === 'asked').length;
  const steps = open.filter((key) => stepOf(state, key)?.status !== 'asked').slice(0, Math.max(0, room));
  return steps.length === 0 ? { what: 'wait' } : { what: 'ask', steps };
}
