import type { AgentActor, Pricing, Topic } from '@acp/contract';
import type { schema } from '@acp/db';
import type { SessionChange } from '../agents/index.ts';

export type RunRow = typeof schema.heartbeat_runs.$inferSelect;

/** Who may follow a run live. */
export interface RunAudience {
  /** Subscribers of this topic get its frames, in addition to viewers of the run; null: it is on no other page. */
  topic: Topic | null;
  /** Only for admins of the company; otherwise for everyone who may see the company. */
  admins_only: boolean;
  /** Only for this user, whatever the others' roles; null: for all of the above. */
  private_to_user_id: string | null;
}

/** The right to write a run, granted by the claim. It ends with the run, or when a sweep finds its lease expired. */
export interface RunLease {
  run_id: string;
  company_id: string;
  fence: number;
  audience: RunAudience;
}

/** What a scheduler owns after a claim. */
export interface ClaimedRun extends RunLease {
  kind: string;
  agent_id: string;
  /** The issue that the run counts towards, if any: its project's budget pays. */
  issue_id: string | null;
  /** The row that the run is about, in the table that the kind names. */
  subject_id: string | null;
  /** The kind's own facts, as passed to the admission. */
  payload: Record<string, unknown>;
  wake_reason: string;
  trigger_detail: string | null;
  adapter_type: string;
  retry_of_run_id: string | null;
  /** Trace context of its cause, if that was traced. */
  traceparent: string | null;
  /** The run's own key, valid while it runs: only for adapters that run a program. Not stored anywhere. */
  api_key: string | null;
  /** There is a budget that its calls must reserve from; one created in the meantime is found by its next call. */
  budgeted: boolean;
  /** The company's own model prices, for models that the operator's pricing file does not name. */
  prices: Pricing;
  /** The agent as the actor of this run's verbs and comments: carries the run's id and depth. */
  actor: AgentActor;
}

export interface NewRunEvent {
  /** A `RunEventKind`, or a remote worker's own. */
  kind: string;
  payload: Record<string, unknown>;
}

/** Consecutive entries, numbered by the lease owner from `first_seq` on. */
export interface TranscriptBatch {
  first_seq: number;
  events: readonly NewRunEvent[];
}

/** One applied or refused verb. The ordinal counts the run's verbs from 1, across all its turns. */
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
  /** `permissions`: the agent's current ones; null if it is gone. */
  held: { run_id: string; cancel_requested: boolean; permissions: Record<string, boolean> | null }[];
  /** Swept in the meantime, or never ours: their execution must be aborted and can no longer write. */
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
  /** At least part of the cost uses the built-in price: no one has set the model's. */
  price_estimated: boolean;
}

/** Why a run did not end well, in plain text for the agent's owner. */
export interface RunFault {
  /** The adapter's error category, or one of `internal`, `config`, `budget`, `lost`, `cancelled`. */
  category: string;
  message: string;
  /** For a used-up quota: when it resets, if known. */
  reset_at?: Date | undefined;
}

/** A verb that was parsed and not applied. */
export interface RehearsedVerb {
  line: string;
  /** Why it would have been refused; null if it is valid as it stands. */
  error: string | null;
}

/**
 * The outcome of a run: created by its execution or from what a worker delivered, and passed on unchanged to the kernel's
 * and the kind's end. A cancellation is recorded in the run's row, not here.
 */
export interface RunResult {
  /** Null: the run succeeded. */
  failure: RunFault | null;
  /** The prose of all turns without its verb lines. */
  text: string | null;
  /** The output so far of a turn that was interrupted, without its verb lines. */
  partial?: string | null;
  /** The text could not be written to where the kind puts it: only the run's row contains it. */
  summary_only?: boolean;
  /** Null if no model was called: no cost event is written. */
  usage: RunUsage | null;
  /** Whether a verb changed something. */
  changed: boolean;
  /** Only for a rehearsal: the parsed verbs, none of which was applied, and which would have been refused. */
  rehearsed?: RehearsedVerb[] | undefined;
  /** State that the agent's next run continues from; undefined leaves it unchanged. */
  session?: SessionChange | undefined;
  /** The company's provider that was called: a used-up quota pauses it. */
  provider_id?: string | null;
  /** The last entries of the transcript, written together with the end. */
  transcript?: TranscriptBatch | undefined;
}
