/**
 * The kernel of execution. Owns `heartbeat_runs`, `run_events` with its partitions and `run_actions`, and knows no subject: what a
 * run is about is defined by its kind (`run-kinds.ts`). The run row is the queue, its lease is liveness, its fence the right to
 * write (decisions 8.1). Invariants: every path to a run goes through `admitRuns`, every end of one that had begun through
 * `endRun`; one live run per live key; at most `max_concurrent_runs` running per agent; whatever an ended or swept run still
 * sends changes nothing; a cancelled run ends `cancelled`.
 */
export { admissionRefusal, admitRuns } from './admit-runs.ts';
export type { Admission, Proposal } from './admit-runs.ts';
export {
  agentFactColumns,
  agentPresent,
  companyDefaultProvider,
  effectiveAdapter,
  readAgentFacts,
} from './agent-facts.ts';
export type { AgentFacts } from './agent-facts.ts';
export { beginAction, completeAction } from './begin-action.ts';
export { cancelRun, cancelRuns, lockLiveRuns } from './cancel-runs.ts';
export { claimRun, claimRuns } from './claim-run.ts';
export { dueWork, MISSING_TASK_SEC } from './due-work.ts';
export { CANCELLED } from './end-run.ts';
export { finishRun } from './finish-run.ts';
export { clearRunContent } from './clear-run-content.ts';
export {
  endHandedOverRun,
  handOverRun,
  noteOnHandedOverRun,
  noteOnHandedOverRuns,
  takeBackRun,
} from './hand-over-run.ts';
export type { TakenBackRun } from './hand-over-run.ts';
export { mayReadRun, presentRun } from './present.ts';
export { parseRanges } from './parse-ranges.ts';
export { listTranscriptRanges } from './read-ranges.ts';
export type { TranscriptEntry, TranscriptRange } from './read-ranges.ts';
export { endedAmong, whetherEnded, findRun, listRunEvents, listRuns } from './read-runs.ts';
export { findRunBefore, readRunText } from './compare-runs.ts';
export { listRunSteps, listRunTools, MOST_RUN_TOOLS } from './read-steps.ts';
export type { RunStep, RunTool } from './read-steps.ts';
export { readJsonAnswer } from './json-answer.ts';
export { refusedVerbs } from './refused-verbs.ts';
export type { RefusedVerb } from './refused-verbs.ts';
export { lockRun, recordAction } from './record-action.ts';
export { renewLeases } from './renew-leases.ts';
export { deleteRunsBefore } from './retention.ts';
export { beginTranscriptPart, dropExpiredTranscripts } from './transcript-parts.ts';
export { appliedByInterrupted, failedInPrevious, promptAction } from './interrupted.ts';
export { LOST_CATEGORY } from './retry-run.ts';
export { appendRunEvents, storeManyRunEvents, storeRunEvents } from './run-events.ts';
export type { RunEventBatch } from './run-events.ts';
export { startedRuns } from './started-runs.ts';
export { eachAlone, registerRunKind } from './run-kinds.ts';
export type { Begun, EndedRun, KindChanges, RunKind } from './run-kinds.ts';
export { sumUsage } from './sum-usage.ts';
export { LostRunNotEnded, postponeLostRun, sweepLostRun, sweepQueuedRuns } from './sweep-runs.ts';
export { LONGEST_WAIT, sweepSubjects, WAITED_TOO_LONG } from './sweep-subjects.ts';
export type * from './types.ts';
