/**
 * Owns reading and forgetting of the sequenced events, and `event_cursors`: the places of readers that may miss none
 * (decisions 10.12). The events themselves are moved there by `sequence_outbox`.
 */
export { advanceCursor, closeCursor, openCursor, readCursor } from './cursors.ts';
export type { CursorBatch, CursorName } from './cursors.ts';
export { readCompanyCursor } from './company-cursor.ts';
export { deleteEventsBefore, dropOutlivedEvents, EVENTS_KEPT_DAYS, lowestEvents } from './retention.ts';
export type { LowestEvents } from './retention.ts';
export { countEvents, lastSequence, listEventsAfter } from './read-events.ts';
export { deleteOldIdempotencyKeys } from './idempotency-keys.ts';
export { replayFloor } from './replay.ts';
export type { SequencedEvent } from './read-events.ts';
export { recentNotifications } from './recent-notifications.ts';
