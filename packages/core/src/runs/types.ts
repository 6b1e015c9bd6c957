import type { AgentActor, RunEventKind } from '@acp/contract';
import type { schema } from '@acp/db';
import type { SessionChange } from '../agents/index.ts';

export type RunRow = typeof schema.heartbeat_runs.$inferSelect;

/** The right to write a run: what the claim gave. It ends with the run, or when a sweep finds its lease lapsed. */
export interface RunLease {
  run_id: string;
  company_id: string;
  fence: number;
}

/** What a scheduler holds after a claim. */
export interface ClaimedRun extends RunLease {
  agent_id: string;
  issue_id: string | null;
  wake_reason: string;
  trigger_detail: string | null;
  adapter_type: string;
  retry_of_run_id: string | null;
  /** The agent held the issue before the run: the end of the run does not release it. */
  held_before: boolean;
  /** Of its own, for the time of the run: only for adapters that run a program. Stored nowhere. */
  api_key: string | null;
  /** There is a budget that its calls have to reserve from; one made meanwhile is found by its next call. */
  budgeted: boolean;
  /** The agent as the actor of this run's verbs and comment: carries the run's id and depth. */
  actor: AgentActor;
}

export interface NewRunEvent {
  kind: RunEventKind;
  payload: Record<string, unknown>;
}

/** Entries in a row, numbered by the lease holder from `first_seq` on. */
export interface TranscriptBatch {
  first_seq: number;
  events: readonly NewRunEvent[];
}

/** One applied or refused verb. The ordinal counts the verbs of the run from 1, over all its turns. */
export interface RunAction {
  ordinal: number;
  verb: string;
  args: Record<string, unknown>;
  mutating: boolean;
  ok: boolean;
  result?: string | null;
  error?: string | null;
}

export interface LeaseRenewal {
  held: { run_id: string; cancel_requested: boolean }[];
  /** Swept meanwhile, or never ours: their execution must be aborted and writes nothing any more. */
  lost: string[];
}

export interface RunUsage {
  /** The provider's family or label, for the cost event. */
  provider: string;
  model: string;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** The adapter reported no usage: the figures are zero or guessed. */
  usage_missing: boolean;
  /** USD as a decimal string with up to eight places, from `priceOf`. */
  cost_usd: string;
}

export interface RunOutcome {
  /** The last entries of the transcript, which are written with the end. */
  transcript?: TranscriptBatch | undefined;
  status: 'succeeded' | 'failed' | 'cancelled';
  error?: string | null;
  /** The adapter's error category, or `internal`. */
  error_category?: string | null;
  /** Cut to 2,000 characters when stored. */
  summary?: string | null;
  /** The prose of all turns without its verb lines; posted as one comment where the run has an issue. */
  comment?: string | null;
  /** What the agent's next run goes on from; undefined leaves that as it is. */
  session?: SessionChange | undefined;
  /** Null where no model was called: then no cost event is written. */
  usage: RunUsage | null;
  /** Whether a mutating verb was applied: the loop breaker counts runs that changed nothing. */
  changed: boolean;
}
