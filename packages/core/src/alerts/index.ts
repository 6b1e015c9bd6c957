/**
 * Owns `alerts` and `alert_looks`: what an operator or an admin has to see to. Invariants: one alert of a kind and key
 * fires at a time; it fires as long as looks find what it is about, and has passed when several did not; who was told
 * that it fires is told that it has passed.
 */
export {
  acknowledgeAlert,
  countOpenAlerts,
  deleteOldAlerts,
  findAlert,
  findAnyAlert,
  listAlerts,
  muteAlert,
} from './alerts.ts';
export type { AlertLimits } from './condition.ts';
export { lookForAlerts } from './look.ts';
export { queueAlertMessages } from './queue-messages.ts';
export type { AlertTargets } from './queue-messages.ts';
export { sendTestMessages } from './test-message.ts';
