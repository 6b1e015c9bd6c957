/**
 * The table of kinds: only the kind defines what a run is about, nothing else in this slice does. Slices after this one
 * own their kinds; `core/src/run-kinds.ts` collects them and installs the table when the package is loaded.
 */
import type { Actor } from '@acp/contract';
import { together, type Tx } from '@acp/db';
import type { Said } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { effectiveAdapter } from './agent-facts.ts';
import type { RunAudience, RunResult, RunRow } from './types.ts';

/** A run at its end: its row is written; agent, subject and run are locked. */
export interface EndedRun {
  run: RunRow;
  /** The row that `subject_id` names in the kind's table, as JSON; null if there is none. */
  subject: Record<string, unknown> | null;
  result: RunResult;
  /** The actor of the end's changes: the run's agent, or the scheduler if no one delivered a result. */
  actor: Actor;
  /** A new run has been admitted in its place: the work continues. */
  retried: boolean;
}

export interface KindChanges {
  /** Recorded by the kernel together with its own, in one statement. */
  changes: Change[];
  /** Agents for which a dispatch is already enqueued. */
  dispatched?: readonly string[];
}

export type Begun = { changes: Change[] } | { refused: { message: string; category: string } };

/** The part of a `Proposal` that the kind sees. */
type KindSubject = Pick<RunRow, 'agent_id' | 'subject_id' | 'payload'>;

/** An entry of the table. Every hook runs in the kernel's transaction and opens none of its own. */
export interface RunKind {
  /** `heartbeat_runs.kind`. */
  name: string;
  /** What `subject_id` names; claim and end lock the table's row after the agent and before the run. */
  subject: { type: string; table: string } | null;
  /** At most one live run has this key; null: any number. */
  liveKey: (run: KindSubject) => string | null;
  /** Who may follow the run live, and on which topic; a run that was admitted as private is for its user alone. */
  audience: (
    run: Pick<RunRow, 'company_id' | 'agent_id' | 'issue_id' | 'subject_id'>,
  ) => Omit<RunAudience, 'private_to_user_id'>;
  /** Always executed by a model, even if the agent's own runs use another adapter. */
  by_model?: true;
  /** Whether a run that was lost before it did anything is retried. */
  retries: boolean;
  /**
   * Called at the claim, with the runs that are `running` from then on, each of a different agent, and perhaps none: a statement
   * over `startedRuns` that is sent before they are awaited travels with the claim. A refusal cancels the run; the kind puts
   * back whatever was waiting for it. One answer for each, in order.
   */
  begin?: (tx: Tx, runs: Promise<readonly RunRow[]>) => Promise<Begun[]>;
  /** The kind's part of the end of a run that had begun, however it ends. */
  end: (tx: Tx, ended: EndedRun) => Promise<KindChanges>;
  /** Whether `end` stores the run's CLI session itself, instead of the agent's row. */
  keepsSession?: (run: RunRow) => boolean;
  /** Called with queued runs that were cancelled: they never began. */
  cancelQueued?: (tx: Tx, runs: readonly RunRow[]) => Promise<void>;
  /**
   * Replaces the default retry, a second run with the same subject and payload.
   * @param admit passes the admission; returns undefined if it refuses
   * @returns whether there is a second run
   */
  retry?: (
    tx: Tx,
    ended: Pick<EndedRun, 'run' | 'subject'>,
    admit: (objection: string | Said | null) => Promise<RunRow | undefined>,
  ) => Promise<boolean>;
  /** Asked of every kind at every end: a select of the ids of agents with work that was waiting for this run. They are dispatched. */
  waitingFor?: (run: Readonly<Record<'agent_id' | 'issue_id', unknown>>) => SQL;
}

/** For kinds whose runs begin rarely enough to be handled one by one. */
export function eachAlone(begin: (tx: Tx, run: RunRow) => Promise<Begun>): RunKind['begin'] {
  return async (tx, runs) => together(...(await runs).map(async (run) => begin(tx, run)));
}

const table = new Map<string, RunKind>();

/** Adds a kind to the table; a second one of the same name replaces it. */
export function registerRunKind(kind: RunKind): void {
  table.set(kind.name, kind);
}

/** SQL: the adapter of a run `r` of the agent `a`. */
export function adapterOfRun(): SQL {
  const names = runKinds().flatMap(({ name, by_model }) => (by_model ? [sql`${name}`] : []));
  return names.length === 0
    ? effectiveAdapter
    : sql`case when r.kind in (${sql.join(names, sql`, `)}) then 'llm' else ${effectiveAdapter} end`;
}

export function runKinds(): RunKind[] {
  return [...table.values()];
}

/** @throws for a kind of a later release; such runs are left to processes that know it (`knownKinds`) */
export function runKind(name: string): RunKind {
  const kind = table.get(name);
  if (kind === undefined) throw new Error(`a run has an unknown kind ${name}`);
  return kind;
}

/** Who receives its transcript. */
export function audienceOf(run: RunRow): RunAudience {
  return { ...runKind(run.kind).audience(run), private_to_user_id: run.private_to_user_id };
}

/** Part of a fixed statement's form if it names the kinds: registering another one calls for another statement. */
export const kindNames = (): string => [...table.keys()].join();

/** Names for `kind in (…)`. */
export function knownKinds(): SQL {
  return sql.join(
    runKinds().map(({ name }) => sql`${name}`),
    sql`, `,
  );
}
