import type { Tx } from '@acp/db';
import type { AgentPermission } from '@acp/contract';
import type { ClaimedRun } from '@acp/core';
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

/** What a verb acts with: the agent of the run, in the transaction that also records the action. */
export interface VerbContext {
  tx: Tx;
  run: ClaimedRun;
  action: ParsedAction;
  /** Those that `Verb.files` asked for, in its order: they lie in the storage under keys that the transaction keeps. */
  files: readonly PlacedFile[];
}

export interface VerbOutcome {
  /** One line for the transcript; of a read verb, the text for the next turn. */
  text: string;
  /** Something is different now. A verb that repeats what is there already must not keep the loop breaker quiet. */
  changed: boolean;
}

export interface Verb {
  /** Checked before the verb begins; the command behind it may demand more. */
  permission?: AgentPermission;
  /** What is to be stored before the transaction begins. Refuses as `apply` does. */
  files?: (context: Pick<VerbContext, 'run' | 'action'>) => VerbFile[];
  /** Does it. Refuses by a ServiceError, whose message the agent reads. */
  apply: (context: VerbContext) => Promise<VerbOutcome>;
}

export type VerbGroup = Readonly<Record<string, Verb>>;
