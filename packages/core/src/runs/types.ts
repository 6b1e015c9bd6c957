import type { AgentActor, Pricing, RunEventKind, Topic } from '@acp/contract';
import type { schema } from '@acp/db';
import type { SessionChange } from '../agents/index.ts';

export type RunRow = typeof schema.heartbeat_runs.$inferSelect;

/** Who may follow a run live. */
export interface RunAudience {
  /** Whoever shows this topic gets its frames, beside those that show the run; null: it is on no other page. */
  topic: Topic | null;
  /** Only to admins of the company; else to all who may see the company. */
  admins_only: boolean;
  /** Only to this user, whatever the others' roles; null: to all of the above. */
  private_to_user_id: string | null;
}

/** The right to write a run: what the claim gave. It ends with the run, or when a sweep finds its lease lapsed. */
export interface RunLease {
  run_id: string;
  company_id: string;
  fence: number;
  audience: RunAudience;
}

/** What a scheduler holds after a claim. */
export interface ClaimedRun extends RunLease {
  kind: string;
  agent_id: string;
  /** The issue that it counts towards, if any: its project's budget pays. */
  issue_id: string | null;
  /** What the run is about, in the table that the kind names. */
  subject_id: string | null;
  /** The kind's own facts, as the admission got them. */
  payload: Record<string, unknown>;
  wake_reason: string;
  trigger_detail: string | null;
  adapter_type: string;
  retry_of_run_id: string | null;
  /** Of what caused it, where that was traced. */
  traceparent: string | null;
  /** Of its own, for the time of the run: only for adapters that run a program. Stored nowhere. */
  api_key: string | null;
  /** There is a budget that its calls have to reserve from; one made meanwhile is found by its next call. */
  budgeted: boolean;
  /** What its company says that models cost, for those that the operator's pricing file does not name. */
  prices: Pricing;
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
  /** At least a part of it by the built-in price: nobody has set the model's. */
  price_estimated: boolean;
}

/** Why a run did not end well, in words for the agent's owner. */
export interface RunFault {
  /** The adapter's error category, or one of `internal`, `config`, `budget`, `lost`, `cancelled`. */
  category: string;
  message: string;
  /** Of a used-up quota: when it is there again, where known. */
  reset_at?: Date | undefined;
}

/** A verb that was read and not applied. */
export interface RehearsedVerb {
  line: string;
  /** Why it would have been refused; null where nothing is wrong with it as it stands. */
  error: string | null;
}

/**
 * What a run came to: made by its execution, or of what a worker brought, and handed on as it is to the kernel's and the
 * kind's end. That somebody called the run off stands in its row, not here.
 */
export interface RunResult {
  /** Null: it ended well. */
  failure: RunFault | null;
  /** The prose of all turns without its verb lines. */
  text: string | null;
  /** What a turn that broke off had said by then, without its verb lines. */
  partial?: string | null;
  /** The text could not be written where the kind writes it: it is kept in the run's row alone. */
  summary_only?: boolean;
  /** Null where no model was called: then no cost event is written. */
  usage: RunUsage | null;
  /** Whether a verb made something different. */
  changed: boolean;
  /** Of a rehearsal: the verbs that were written, none of which was applied, and what would have been refused. */
  rehearsed?: RehearsedVerb[] | undefined;
  /** What the agent's next run goes on from; undefined leaves that as it is. */
  session?: SessionChange | undefined;
  /** The company's provider that was asked: a used-up quota pauses it. */
  provider_id?: string | null;
  /** The last entries of the transcript, which are written with the end. */
  transcript?: TranscriptBatch | undefined;
}
