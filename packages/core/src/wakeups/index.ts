/**
 * Owns `wakeup_requests`. Invariants: at most one pending request per agent and issue; the transaction of every request without a
 * queued run enqueues a job `dispatch-agent`; no one wakes themselves; chains of causes end.
 * `run_id` is set when a queued run is admitted for the request (still pending: later ones coalesce into it); the claim consumes
 * it. Dispatch handles pending requests without a run.
 */
export { MAX_STALLED_RUNS, requestWakeups } from './request-wakeups.ts';
export type { RequestedWakeup, WakeupRequest } from './request-wakeups.ts';
export {
  agentsWaitingFor,
  bindWakeups,
  cancelWakeups,
  consumeInbox,
  consumeWakeups,
  returnWakeups,
  waitingAfter,
  wakeupsConsumed,
} from './pending.ts';
export { deleteWakeupsBefore } from './retention.ts';
export { startDueHeartbeats, sweepWakeups } from './timers.ts';
export { presentWakeup } from './present.ts';
