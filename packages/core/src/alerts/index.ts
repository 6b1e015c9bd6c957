/**
 * Owns `alerts` and `alert_looks`: problems that an operator or an admin has to deal with. Invariants: at most one alert of a kind
 * and key fires at a time; it fires as long as checks find its condition, and is resolved once several did not; everyone notified
 * that it fires is notified that it is resolved.
 */
export {
  acknowledgeAlert,
  deleteOldAlerts,
  findAlert,
  findAnyAlert,
  listAlerts,
  muteAlert,
} from './alerts.ts';
export { changesAlerts, checkConditions, updateAlerts } from './check-conditions.ts';
export { queueAlertMessages } from './queue-messages.ts';
export type { AlertTargets } from './queue-messages.ts';
export { sendTestMessages } from './test-message.ts';
