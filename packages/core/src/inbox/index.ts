/** Owns nothing: combines what waits for an agent or a human from the slices that own it. */
export { inboxLite } from './inbox-lite.ts';
export { MOST_WAITING, readInbox, readWaiting } from './inbox.ts';
export { countWaiting, inboxReasons } from './waiting.ts';
export type { Reason, Waiting } from './waiting.ts';
