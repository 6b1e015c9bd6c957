/** Prompt evolution (decisions 3): improving an agent's prompt on its own finished work. Each step is a run. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, PageQuery, Timestamp, Uuid } from './schema-kit.ts';

/** Minimum number of finished issues held out for comparing candidates; with fewer the result is meaningless. */
export const LEAST_HELD_OUT = 10;
/** Number of finished issues whose rollouts one reflection reads. */
export const MINIBATCH = 3;

export const DEFAULT_ROLLOUTS = 80;
export const DEFAULT_EVOLUTION_USD = 5;

export const evolutionStatuses = ['running', 'completed', 'failed', 'cancelled'] as const;
export type EvolutionStatus = (typeof evolutionStatuses)[number];

/** `rollout`: the candidate works an issue without effect. `judge`: the result is scored. `reflect`: a new prompt is written. */
export const evolutionStepKinds = ['rollout', 'judge', 'reflect'] as const;
export type EvolutionStepKind = (typeof evolutionStepKinds)[number];

/**
 * `proposed`: being written. `trial`: tried on the issues it was written for. `scoring`: better there, now on the held-out
 * issues. `scored`, `rejected`: final.
 */
export const candidateStatuses = ['proposed', 'trial', 'scoring', 'scored', 'rejected'] as const;
export type CandidateStatus = (typeof candidateStatuses)[number];

/** Outcome of watching a version that was activated automatically. */
export const watchStates = ['watching', 'kept', 'rolled_back', 'superseded'] as const;
export type WatchState = (typeof watchStates)[number];

const candidate = {
  /** 0 is the initial prompt. */
  number: Type.Integer(),
  parent_number: Nullable(Type.Integer()),
  status: OneOf(candidateStatuses),
  /** Mean over the held-out issues, 0 to 1; null unless `scored`. */
  score: Nullable(Type.Number()),
  /** Mean cost of a held-out rollout, in USD. */
  cost_usd: Nullable(Type.Number()),
  /** On the Pareto front: no other candidate is both better and cheaper. */
  on_front: Type.Boolean(),
};

const outline = {
  id: Uuid,
  company_id: Uuid,
  agent_id: Uuid,
  status: OneOf(evolutionStatuses),
  base_version_number: Type.Integer(),
  /** The version created from the winner; null while running, and if nothing beat the initial prompt. */
  version_number: Nullable(Type.Integer()),
  winner_number: Nullable(Type.Integer()),
  candidates: Type.Array(Type.Object(candidate)),
  max_rollouts: Type.Integer(),
  /** Rollouts so far. */
  rollouts: Type.Integer(),
  max_cost_usd: Type.Number(),
  /** Cost of all steps so far. */
  spent_usd: Type.Number(),
  /** Why it failed or stopped before its limits. */
  error: Nullable(Type.String()),
  /** Why it is currently not progressing. */
  waiting_reason: Nullable(Type.String()),
  /** When the winner automatically became the agent's prompt. */
  promoted_at: Nullable(Timestamp),
  watch: Nullable(OneOf(watchStates)),
  /** Result of the comparison after the promotion, in words. */
  watch_note: Nullable(Type.String()),
  started_by_agent_id: Nullable(Uuid),
  started_by_user_id: Nullable(Uuid),
  created_at: Timestamp,
  finished_at: Nullable(Timestamp),
};

/** Without the prompts. */
export const PromptEvolutionSummary = Type.Object(outline);
export type PromptEvolutionSummary = Static<typeof PromptEvolutionSummary>;

export const EvolutionCandidate = Type.Object({
  ...candidate,
  /** Null while it is being written. */
  system_prompt: Nullable(Type.String()),
  /** What the reflection tried to improve. */
  reason: Nullable(Type.String()),
});
export type EvolutionCandidate = Static<typeof EvolutionCandidate>;

export const EvolutionInstance = Type.Object({
  ordinal: Type.Integer(),
  issue_id: Uuid,
  identifier: Type.String(),
  title: Type.String(),
  split: OneOf(['train', 'held_out']),
  scores: Type.Array(
    Type.Object({
      candidate_number: Type.Integer(),
      score: Type.Number(),
      /** The judge's feedback. */
      feedback: Nullable(Type.String()),
      /** The rollout's run. */
      run_id: Uuid,
    }),
  ),
});
export type EvolutionInstance = Static<typeof EvolutionInstance>;

export const PromptEvolution = Type.Object({
  ...outline,
  candidates: Type.Array(EvolutionCandidate),
  instances: Type.Array(EvolutionInstance),
});
export type PromptEvolution = Static<typeof PromptEvolution>;

export const EvolvePrompt = Type.Object({
  /** Maximum number of rollouts, over all issues and candidates. */
  max_rollouts: Type.Optional(Type.Integer({ minimum: 30, maximum: 300 })),
  /** Ends once its steps have cost this much; budgets apply as well. */
  max_cost_usd: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1000 })),
});
export type EvolvePrompt = Static<typeof EvolvePrompt>;

/** A judge's answer: each point of the rubric from 0 to 4. */
export const rubricPoints = ['task', 'soundness', 'action', 'lessons', 'clarity'] as const;
const points = Type.Integer({ minimum: 0, maximum: 4 });
export const Judgement = Type.Object({
  task: points,
  soundness: points,
  action: points,
  lessons: points,
  clarity: points,
  feedback: Type.String({ maxLength: 20_000 }),
});
export type Judgement = Static<typeof Judgement>;

/** A reflection's answer. */
export const Reflection = Type.Object({
  reason: Type.String({ minLength: 1, maxLength: 20_000 }),
  system_prompt: Type.String({ minLength: 20, maxLength: 20_000, pattern: '\\S' }),
});
export type Reflection = Static<typeof Reflection>;

const common = { auth: BEARER, feature: 'prompt_evolution' } as const;
const ofAgent = { ...common, scope: { by: 'agent', param: 'agentId' } } as const;
const one = { ...common, scope: { by: 'prompt_evolution', param: 'evolutionId' } } as const;

export const evolutionEndpoints = {
  evolve: endpoint({
    ...ofAgent,
    id: 'evolutions.evolve',
    method: 'POST',
    path: '/api/agents/{agentId}/evolve-prompt',
    role: 'member',
    permission: 'agents.update',
    body: EvolvePrompt,
    body_optional: true,
    response: PromptEvolution,
    status: 201,
    tx: 'write',
    example: { max_rollouts: 80, max_cost_usd: 5 },
    doc: 'Starts evolving the agent’s prompt on its finished issues: rollouts without side effects, a judge, a reflection. For anyone who may change the prompt. 409 with `evolution_id` while one is running, with too little history, for agents without a model, or `budget exceeded`.',
  }),
  list: endpoint({
    ...ofAgent,
    id: 'evolutions.list',
    method: 'GET',
    path: '/api/agents/{agentId}/prompt-evolutions',
    role: 'viewer',
    query: Type.Object({ ...PageQuery }),
    response: Type.Array(PromptEvolutionSummary),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The agent’s evolutions, newest first, without prompts; the latest 20 are kept.',
  }),
  get: endpoint({
    ...one,
    id: 'evolutions.get',
    method: 'GET',
    path: '/api/prompt-evolutions/{evolutionId}',
    role: 'viewer',
    response: PromptEvolution,
    status: 200,
    tx: 'none',
    doc: 'An evolution with its candidates and their scores on each issue. `evolution_updated` events announce changes.',
  }),
  cancel: endpoint({
    ...one,
    id: 'evolutions.cancel',
    method: 'POST',
    path: '/api/prompt-evolutions/{evolutionId}/cancel',
    role: 'member',
    permission: 'agents.update',
    response: PromptEvolution,
    status: 200,
    tx: 'write',
    doc: 'Ends a running evolution without a new version; its steps are cancelled. 409 if it has ended.',
  }),
};
