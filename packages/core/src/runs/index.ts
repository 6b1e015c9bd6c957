/**
 * Owns `heartbeat_runs`, `run_events` and `run_actions`. The run row is the queue, its lease is liveness, its fence the
 * right to write (decisions 8.1). Invariants: every path to a run goes through `admitRuns`; one live run per issue;
 * at most `max_concurrent_runs` running per agent; what an ended or swept run still sends changes nothing.
 */
export { cancelRun } from './cancel.ts';
export { claimRun } from './claim.ts';
export { dispatchAgent } from './dispatch.ts';
export { dueWork } from './due-work.ts';
export type { DueWork } from './due-work.ts';
export { BUDGET_CATEGORY, finishRun } from './finish.ts';
export { endHandedOverRun, handOverRun } from './hand-over.ts';
export { invokeAgent, triggerIssue } from './invoke.ts';
export { lockRun, recordAction, renewLeases } from './lease.ts';
export { presentRun } from './present.ts';
export { promptFacts } from './prompt-facts.ts';
export { listTranscriptRanges } from './read-ranges.ts';
export type { TranscriptEntry, TranscriptRange } from './read-ranges.ts';
export { endedAmong, findRun, listRunEvents, listRuns } from './read-runs.ts';
export { deleteRunsBefore } from './retention.ts';
export { settleAgent, settleCompany, settleIssue } from './settle.ts';
export { sweepLostRun, sweepQueuedRuns } from './sweep.ts';
export { sweepUnsettled } from './sweep-unsettled.ts';
export { appendRunEvents, storeRunEvents } from './transcript.ts';
export type { TranscriptSignal } from './transcript.ts';
export type * from './prompt-types.ts';
export type * from './types.ts';
