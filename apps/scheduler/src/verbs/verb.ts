import type { Tx } from '@acp/db';
import type { AgentPermission } from '@acp/contract';
import type { ClaimedRun } from '@acp/core';
import type { ParsedAction } from './parse.ts';

/** What a verb acts with: the agent of the run, in the transaction that also records the action. */
export interface VerbContext {
  tx: Tx;
  run: ClaimedRun;
  action: ParsedAction;
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
  /** Does it. Refuses by a ServiceError, whose message the agent reads. */
  apply: (context: VerbContext) => Promise<VerbOutcome>;
}

export type VerbGroup = Readonly<Record<string, Verb>>;
