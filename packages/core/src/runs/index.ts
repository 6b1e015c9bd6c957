/**
 * Owns `heartbeat_runs`, `run_events` and `run_actions`. The run row is the queue, its lease is liveness, its fence the
 * right to write (decisions 8.1). Every path to a run goes through one admission.
 */
export * from './signatures.ts';
export type * from './types.ts';
export type * from './prompt-types.ts';
export { listTranscriptRanges } from './read-ranges.ts';
export type { TranscriptEntry, TranscriptRange } from './read-ranges.ts';
