import type { Actor, Run, RunEvent } from '@acp/contract';
import type { Tx } from '@acp/db';
import type { PromptFacts } from './prompt-types.ts';
import type {
  ClaimedRun,
  LeaseRenewal,
  NewRunEvent,
  RunAction,
  RunLease,
  RunOutcome,
  RunRow,
} from './types.ts';

/** The fairest queued run becomes running and the caller's; undefined when none may start now. Own transaction. */
export declare function claimRun(
  tx: Tx,
  options: { claimed_by: string; lease_sec: number },
): Promise<ClaimedRun | undefined>;
/** One statement; may run outside a transaction. */
export declare function renewLeases(
  tx: Tx,
  claimed_by: string,
  leases: readonly RunLease[],
  lease_sec: number,
): Promise<LeaseRenewal>;
/** In a transaction; signals `transcripts`. False: the fence is lost. */
export declare function appendRunEvents(
  tx: Tx,
  lease: RunLease,
  first_seq: number,
  events: readonly NewRunEvent[],
): Promise<boolean>;
/**
 * One autocommit statement on the plain `database.db`. Gives the item for `database.notifier?.push('transcripts', [item])`;
 * undefined: the fence is lost.
 */
export declare function storeRunEvents(
  db: Tx,
  lease: RunLease,
  first_seq: number,
  events: readonly NewRunEvent[],
): Promise<string | undefined>;
/** Last statement of a verb's transaction. False: fence lost or ordinal already recorded; the caller rolls back. */
export declare function recordAction(tx: Tx, lease: RunLease, action: RunAction): Promise<boolean>;
/** The whole end of a run, in its own transaction. False: fence lost; the caller rolls back. */
export declare function finishRun(tx: Tx, run: ClaimedRun, outcome: RunOutcome): Promise<boolean>;
/** Ends one run whose lease lapsed; call in a transaction each until undefined. `except`: ids whose sweep just failed. */
export declare function sweepLostRun(tx: Tx, except?: readonly string[]): Promise<RunRow | undefined>;
/** Offers queued runs older than 30 s again; gives their count. */
export declare function sweepQueuedRuns(tx: Tx): Promise<number>;
/** The `dispatch-agent` job: gives the runs admitted. */
export declare function dispatchAgent(tx: Tx, agent_id: string): Promise<RunRow[]>;
export declare function invokeAgent(tx: Tx, actor: Actor, agent: { id: string }): Promise<Run>;
export declare function triggerIssue(
  tx: Tx,
  actor: Actor,
  issue: { id: string; assignee_agent_id: string | null },
): Promise<Run>;
export declare function cancelRun(tx: Tx, actor: Actor, run: RunRow): Promise<Run>;
export declare function findRun(tx: Tx, id: string): Promise<RunRow | undefined>;
export declare function listRunEvents(
  tx: Tx,
  run_id: string,
  query: { after?: number; limit?: number },
): Promise<RunEvent[]>;
export declare function settleAgent(tx: Tx, agent_id: string): Promise<void>;
export declare function settleIssue(tx: Tx, issue_id: string): Promise<void>;
export declare function settleCompany(tx: Tx, company_id: string): Promise<void>;
/** Retention; gives the count deleted (at most `limit`). */
export declare function deleteRunsBefore(tx: Tx, days: number, limit: number): Promise<number>;
/** One statement. */
export declare function promptFacts(tx: Tx, run: ClaimedRun): Promise<PromptFacts>;
