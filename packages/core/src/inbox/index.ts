/** Owns nothing: it puts together what waits for somebody, agent or human, from the slices that own it. */
export { inboxLite } from './inbox-lite.ts';
export { readInbox, readWaiting } from './inbox.ts';
export { countWaiting, inboxReasons } from './waiting.ts';
export type { Reason, Waiting } from './waiting.ts';
