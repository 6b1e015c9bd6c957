/**
 * Owns `outgoing_messages`: what is sent to people and programs outside, by mail and by the operator's channels. Invariants: a
 * message is committed or rolled back with the change it reports; it is sent at least once, and given up after a day; its text
 * is deleted once it is no longer needed.
 */
export { claimMessages, recordSent } from './claim-messages.ts';
export type { ClaimedMessage } from './claim-messages.ts';
export { mailsLinks } from './mailing.ts';
export type { Mailing } from './mailing.ts';
export { queueMessages } from './queue-messages.ts';
export type { NewMessage } from './queue-messages.ts';
export { deleteOldMessages, listOutgoing, presentOutgoing } from './read-messages.ts';
