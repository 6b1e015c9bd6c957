/**
 * The table of kinds: what a run is about is said by its kind and by nothing else in this slice. Slices after this one
 * own their kinds; `core/src/run-kinds.ts` gathers them and installs the table when the package is loaded.
 */
import type { Actor } from '@acp/contract';
import { together, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { effectiveAdapter } from './agent-facts.ts';
import type { RunAudience, RunResult, RunRow } from './types.ts';

/** A run as its end finds it: its row is written, agent, subject and run are locked. */
export interface EndedRun {
  run: RunRow;
  /** The row that `subject_id` names in the kind's table, as JSON; null without one. */
  subject: Record<string, unknown> | null;
  result: RunResult;
  /** In whose name the end writes: the agent of the run, or the scheduler where nobody brought a result. */
  actor: Actor;
  /** A fresh run has been admitted in its place: the work goes on. */
  retried: boolean;
}

export interface KindChanges {
  /** Recorded by the kernel with its own, in one statement. */
  changes: Change[];
  /** Agents for which a dispatch is enqueued already. */
  dispatched?: readonly string[];
}

export type Begun = { changes: Change[] } | { refused: { message: string; category: string } };

/** What a proposal of the kind is to look like to the admission: part of `Proposal`. */
export type KindSubject = Pick<RunRow, 'agent_id' | 'subject_id' | 'payload'>;

/** One row of the table. Every hook runs in the kernel's transaction and opens none. */
export interface RunKind {
  /** `heartbeat_runs.kind`. */
  name: string;
  /** What `subject_id` names; the table's row is locked by claim and end, after the agent and before the run. */
  subject: { type: string; table: string } | null;
  /** At most one live run has this key; null: there may be any number. */
  liveKey: (run: KindSubject) => string | null;
  /** Who may follow the run live, and as what; a run whose admission made it private is for its user alone. */
  audience: (
    run: Pick<RunRow, 'company_id' | 'agent_id' | 'issue_id' | 'subject_id'>,
  ) => Omit<RunAudience, 'private_to_user_id'>;
  /** A model computes it, also where the agent's own runs go through another adapter. */
  by_model?: true;
  /** Whether a run that was lost before it did anything is tried once more. */
  retries: boolean;
  /**
   * At the claim, the runs being `running` already, each of an agent of its own. A refusal cancels a run; what waits for it
   * is put back by the kind. One answer for each, in order.
   */
  begin?: (tx: Tx, runs: readonly RunRow[]) => Promise<Begun[]>;
  /** The kind's part of the end, however the run ends once it had begun. */
  end: (tx: Tx, ended: EndedRun) => Promise<KindChanges>;
  /** Whether `end` keeps the CLI's session of the run, instead of the agent's row. */
  keepsSession?: (run: RunRow) => boolean;
  /** Queued runs that were called off: they never began. */
  cancelQueued?: (tx: Tx, runs: readonly RunRow[]) => Promise<void>;
  /**
   * Instead of a plain second run with the same subject and payload.
   * @param admit passes the admission; undefined where it refuses
   * @returns whether there is a second run
   */
  retry?: (
    tx: Tx,
    ended: Pick<EndedRun, 'run' | 'subject'>,
    admit: (objection: string | null) => Promise<RunRow | undefined>,
  ) => Promise<boolean>;
  /** Asked of every kind at every end: agents with work that had to wait for this run. They are dispatched. */
  waitingFor?: (tx: Tx, run: Pick<RunRow, 'agent_id' | 'issue_id'>) => Promise<string[]>;
}

/** For kinds whose runs begin rarely enough to be asked about one by one. */
export function eachAlone(begin: (tx: Tx, run: RunRow) => Promise<Begun>): RunKind['begin'] {
  return async (tx, runs) => together(...runs.map(async (run) => begin(tx, run)));
}

const table = new Map<string, RunKind>();

/** Puts a kind into the table; a second one of the same name takes its place. */
export function registerRunKind(kind: RunKind): void {
  table.set(kind.name, kind);
}

/** SQL: what a run `r` of the agent `a` goes through. */
export function adapterOfRun(): SQL {
  const names = runKinds().flatMap(({ name, by_model }) => (by_model ? [sql`${name}`] : []));
  return names.length === 0
    ? effectiveAdapter
    : sql`case when r.kind in (${sql.join(names, sql`, `)}) then 'llm' else ${effectiveAdapter} end`;
}

export function runKinds(): RunKind[] {
  return [...table.values()];
}

/** @throws for a kind of a later release; such runs are left to the processes that know it (`knownKinds`). */
export function runKind(name: string): RunKind {
  const kind = table.get(name);
  if (kind === undefined) throw new Error(`a run has the unknown kind ${name}`);
  return kind;
}

/** Whom its transcript goes to. */
export function audienceOf(run: RunRow): RunAudience {
  return { ...runKind(run.kind).audience(run), private_to_user_id: run.private_to_user_id };
}

/** Names for `kind in (…)`. */
export function knownKinds(): SQL {
  return sql.join(
    runKinds().map(({ name }) => sql`${name}`),
    sql`, `,
  );
}
