/**
 * Owns `outgoing_messages`: what is sent to people and programs outside, by mail and by the operator's channels. Invariants: a
 * message stands or falls with the change that it tells of; it is sent at least once, and given up after a day; its
 * text is gone once nothing is to be done with it.
 */
export { claimMessages, recordSent } from './claim-messages.ts';
export type { ClaimedMessage } from './claim-messages.ts';
export { mailsLinks } from './mailing.ts';
export type { Mailing } from './mailing.ts';
export { queueMessages } from './queue-messages.ts';
export type { NewMessage } from './queue-messages.ts';
export { deleteOldMessages, listOutgoing, presentOutgoing } from './read-messages.ts';
