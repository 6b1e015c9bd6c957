/**
 * Owns reading and deleting of the sequenced events, and `event_cursors`: the positions of readers that must not miss any
 * (decisions 10.12). `sequence_outbox` moves the events there.
 */
export { advanceCursor, closeCursor, openCursor, readCursor } from './cursors.ts';
export type { CursorName } from './cursors.ts';
export { readCompanyCursor } from './company-cursor.ts';
export { deleteEventsBefore, dropExpiredEvents, EVENTS_KEPT_DAYS, lowestEvents } from './retention.ts';
export { countEvents, lastSequence, listEventsAfter } from './read-events.ts';
export { deleteOldIdempotencyKeys } from './idempotency-keys.ts';
export { replayFloor } from './replay.ts';
export type { SequencedEvent } from './read-events.ts';
export { recentNotifications } from './recent-notifications.ts';
