/**
 * Owns the security log: events of accounts, sessions and keys, kept as long as a setting says. Sign-ins are written in their
 * transaction; refusals and uses of keys are collected in the web tier and written in batches.
 */
export {
  deleteSecurityEventsBefore,
  recordSecurityEvents,
  SECURITY_EVENTS_KEPT_DAYS,
} from './record-events.ts';
export type { NewSecurityEvent, SignInPlace } from './record-events.ts';
export { eachSecurityEvent, listSecurityEvents } from './list-events.ts';
export { deleteOldKeyAddresses, noteKeyAddresses } from './key-addresses.ts';
export type { KeyUse } from './key-addresses.ts';
