/** Runs, their transcripts and wakeups (decisions 2 and 3, Runs). */
import { Type, type Static } from 'typebox';
import { JsonObject, Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';

export const runStatuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];

export const wakeReasons = [
  'mention',
  'assignment',
  'comment',
  'manual',
  'schedule',
  'approval',
  'unblocked',
  'subagent',
  'input',
] as const;
export type WakeReason = (typeof wakeReasons)[number];

/** Kinds of the service's own entries; a remote worker's may have others. */
const runEventKinds = ['status', 'prompt', 'output', 'action', 'tool', 'log', 'error'] as const;
export type RunEventKind = (typeof runEventKinds)[number];

export const Run = Type.Object({
  id: Uuid,
  company_id: Uuid,
  agent_id: Uuid,
  /** The kind of work: `heartbeat` or another one. */
  kind: Type.String(),
  /** What the run is about; null if the agent was woken for nothing in particular. */
  subject: Nullable(Type.Object({ type: Type.String(), id: Uuid })),
  issue_id: Nullable(Uuid),
  /** Its content is private to one person: others see that it ran and what it cost, but neither summary nor transcript. */
  is_private: Type.Boolean(),
  status: OneOf(runStatuses),
  wake_reason: Type.String(),
  trigger_detail: Nullable(Type.String()),
  adapter_type: Type.String(),
  model: Nullable(Type.String()),
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  cached_tokens: Type.Integer(),
  cost_usd: Type.Number(),
  summary: Nullable(Type.String()),
  error: Nullable(Type.String()),
  retry_of_run_id: Nullable(Uuid),
  claimed_by: Nullable(Type.String()),
  created_at: Timestamp,
  started_at: Nullable(Timestamp),
  finished_at: Nullable(Timestamp),
});
export type Run = Static<typeof Run>;

const Count = Type.Number({ minimum: 0 });

/** What one of several turns has used: `usage` of a `log` entry of the transcript. It is all that is known of a run that was lost. */
export const TurnUsage = Type.Object({
  /** The provider's family or label. */
  provider: Type.Optional(Type.String()),
  model: Type.Optional(Type.String()),
  input_tokens: Count,
  output_tokens: Count,
  cached_tokens: Count,
  cost_usd: Count,
  /** At least part of the cost uses the built-in price. */
  price_estimated: Type.Optional(Type.Boolean()),
  /** The adapter reported no usage: the figures are zero or guessed. */
  usage_missing: Type.Optional(Type.Boolean()),
});
export type TurnUsage = Static<typeof TurnUsage>;

export const RunEvent = Type.Object({
  seq: Type.Integer(),
  /** status, prompt, output, action, tool, log or error; a remote worker's program may have kinds of its own. */
  kind: Type.String(),
  payload: JsonObject,
  created_at: Timestamp,
});
export type RunEvent = Static<typeof RunEvent>;

export const Wakeup = Type.Object({
  id: Uuid,
  company_id: Uuid,
  agent_id: Uuid,
  issue_id: Nullable(Uuid),
  reason: OneOf(wakeReasons),
  payload: JsonObject,
  status: OneOf(['pending', 'consumed', 'cancelled']),
  created_at: Timestamp,
  consumed_at: Nullable(Timestamp),
});
export type Wakeup = Static<typeof Wakeup>;
