import type { AgentPermission } from '@acp/contract';
import type { ClaimedRun, ToolRegistry } from '@acp/core';
import type { Database, Tx } from '@acp/db';
import type { PlacedFile } from '@acp/storage';
import type { ParsedAction } from './parse.ts';

/** A file that a verb writes. */
export interface VerbFile {
  folder: 'attachments' | 'agents';
  /** Whose it is: a company's or an agent's id. */
  owner: string;
  filename: string;
  content_type: string;
  bytes: Uint8Array;
}

/** The folder of the run's issue, where a program works in it and may write there. */
export interface WorkspaceFiles {
  /** Throws a ServiceError for a path that can't be a file's. */
  write(path: string, bytes: Uint8Array): Promise<void>;
}

/** What the first half of a verb acts with. It may take seconds and holds no transaction. */
export interface PrepareContext {
  /** For reads. */
  database: Database;
  run: ClaimedRun;
  action: ParsedAction;
  tools: ToolRegistry;
  /** Aborts when the run is stopped, and at a deadline that `within` sets. */
  signal: AbortSignal;
  /** The same in each attempt of this verb: for others that know how to do nothing twice. */
  call_id: string;
  /** The work's result, unless the run is stopped or the time (in milliseconds) is over before. */
  within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /**
   * Records that from now on something may take effect outside, where no rollback reaches: a run that is lost then is
   * not repeated, and its agent is told. Nothing to do for what only reads.
   */
  begin(): Promise<void>;
}

/** What a verb acts with: the agent of the run, in the transaction that also records the action. */
export interface VerbContext {
  tx: Tx;
  run: ClaimedRun;
  action: ParsedAction;
  /** Those that `Verb.files` asked for, in its order: they lie in the storage under keys that the transaction keeps. */
  files: readonly PlacedFile[];
  /** What `Verb.into_workspace` named lies there. */
  in_workspace: boolean;
}

export interface VerbOutcome {
  /** One line for the transcript; of a read verb, the text for the next turn. */
  text: string;
  /** Something is different now. A verb that repeats what is there already must not keep the loop breaker quiet. */
  changed: boolean;
}

/** The half of a verb that writes here: all of it in one transaction, repeated after a rollback. */
export type Commit = (context: VerbContext) => Promise<VerbOutcome>;

interface VerbRights {
  /** Checked before the verb begins; the command behind it may demand more. */
  permission?: AgentPermission;
  /** What is to be stored before the transaction begins. */
  files?: (context: Pick<VerbContext, 'run' | 'action' | 'in_workspace'>) => VerbFile[];
  /** What is to be written into the run's workspace, where it has one, before the transaction begins: the same each time. */
  into_workspace?: (context: Pick<VerbContext, 'action'>) => { path: string; bytes: Uint8Array };
}

/** One that talks to nobody. Refuses by a ServiceError, whose message the agent reads. */
interface PlainVerb extends VerbRights {
  commit: Commit;
  prepare?: never;
}

/** One that talks to others first, once, and gives what is then to be written. Both halves refuse likewise. */
interface TalkingVerb extends VerbRights {
  prepare: (context: PrepareContext) => Promise<Commit>;
  commit?: never;
}

export type Verb = PlainVerb | TalkingVerb;
export type VerbGroup = Readonly<Record<string, Verb>>;
