import type { AgentPermission } from '@acp/contract';
import type { ClaimedRun, ToolRegistry } from '@acp/core';
import type { Database, Tx } from '@acp/db';
import type { PlacedFile } from '@acp/storage';
import type { ParsedAction } from './parse.ts';

/** A file that a verb writes. */
export interface VerbFile {
  folder: 'attachments' | 'agents';
  /** Id of the company or agent that owns it. */
  owner: string;
  filename: string;
  content_type: string;
  bytes: Uint8Array;
}

/** The folder of the run's issue, if a program works in it and may write there. */
export interface WorkspaceFiles {
  /** Throws a ServiceError for a path that is not valid for a file. */
  write(path: string, bytes: Uint8Array): Promise<void>;
}

/** What the first half of a verb works with. It may take seconds and has no open transaction. */
export interface PrepareContext {
  /** For reads. */
  database: Database;
  run: ClaimedRun;
  action: ParsedAction;
  tools: ToolRegistry;
  /** Aborts when the run is stopped, and at a deadline that `within` sets. */
  signal: AbortSignal;
  /** The same in each attempt of this verb: an idempotency key for receivers that support one. */
  call_id: string;
  /** Returns the work's result, unless the run is stopped or the time (in milliseconds) runs out first. */
  within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /**
   * Records that from now on something may take effect outside, beyond the reach of a rollback: if the run is lost after
   * that, it is not repeated, and its agent is informed. Not needed for read-only calls.
   */
  begin(): Promise<void>;
}

/** What a verb works with: the run's agent, in the transaction that also records the action. */
export interface VerbContext {
  tx: Tx;
  run: ClaimedRun;
  action: ParsedAction;
  /** The files requested by `Verb.files`, in its order: already stored, under keys that the transaction keeps. */
  files: readonly PlacedFile[];
  /** The file named by `Verb.into_workspace` has been written there. */
  in_workspace: boolean;
}

export interface VerbOutcome {
  /** One line for the transcript; for a read verb, the text for the next turn. */
  text: string;
  /** Something was changed. Must be false for a verb without effect, so that the loop breaker still triggers. */
  changed: boolean;
}

/** The half of a verb that writes here, all in one transaction, repeated after a rollback. */
export type Commit = (context: VerbContext) => Promise<VerbOutcome>;

interface VerbRights {
  /** Checked before the verb begins; the command behind it may require more. */
  permission?: AgentPermission;
  /** Files to store before the transaction begins. */
  files?: (context: Pick<VerbContext, 'run' | 'action' | 'in_workspace'>) => VerbFile[];
  /** File to write into the run's workspace, if any, before the transaction begins: the same each time. */
  into_workspace?: (context: Pick<VerbContext, 'action'>) => { path: string; bytes: Uint8Array };
}

/** A verb without outside calls. Refuses by a ServiceError, whose message the agent reads. */
interface PlainVerb extends VerbRights {
  commit: Commit;
  prepare?: never;
}

/** A verb that first calls others, once, and returns what is to be written. Both halves refuse in the same way. */
interface TalkingVerb extends VerbRights {
  prepare: (context: PrepareContext) => Promise<Commit>;
  commit?: never;
}

export type Verb = PlainVerb | TalkingVerb;
export type VerbGroup = Readonly<Record<string, Verb>>;
