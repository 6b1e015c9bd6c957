/** Owns reading and forgetting of the sequenced events; the rows themselves are moved there by `sequence_outbox`. */
export { countEvents, deleteEventsBefore, lastSequence, listEventsAfter } from './read-events.ts';
export { deleteOldIdempotencyKeys } from './idempotency-keys.ts';
export { replayFloor } from './replay.ts';
export type { SequencedEvent } from './read-events.ts';
export { recentNotifications } from './recent-notifications.ts';
export type { Alert } from './recent-notifications.ts';
