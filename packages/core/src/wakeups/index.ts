/**
 * Owns `wakeup_requests`. Invariants: one pending request per agent and issue; a job `dispatch-agent` is enqueued in
 * the transaction of every request that no queued run has yet; nobody wakes himself; chains of causes end.
 * `run_id` is set when a queued run was admitted for the request (still pending: later ones coalesce into it); the
 * claim consumes it. Dispatch looks at pending ones without a run.
 */
export { MAX_STALLED_RUNS, requestWakeups } from './request-wakeups.ts';
export type { RequestedWakeup, WakeupRequest } from './request-wakeups.ts';
export {
  agentsWaiting,
  agentsWaitingFor,
  bindWakeups,
  cancelWakeups,
  consumeInbox,
  consumeWakeups,
  returnWakeups,
  wakeupsConsumed,
} from './pending.ts';
export { deleteWakeupsBefore } from './retention.ts';
export { startDueHeartbeats, sweepWakeups } from './timers.ts';
export { presentWakeup } from './present.ts';
export type { WakeupRow } from './present.ts';
