/**
 * Owns `webhooks` and `webhook_deliveries`: a company's events, sent to its integrations (decisions 10.17), and changes of a task,
 * sent to the client that asked for them (those have an `issue_id`).
 * Invariants: deliveries are created along with moving the durable cursor, so none is lost or created twice; a webhook's
 * deliveries are sent one at a time, in event order, by the process with its lease.
 */
export {
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  updateWebhook,
  webhookSecret,
} from './webhooks.ts';
export type { WebhookRules } from './webhooks.ts';
export { findDelivery, listDeliveries, listPushDeliveries, redeliver } from './deliveries.ts';
export {
  deleteTaskWebhook,
  deleteTaskWebhooksOfEnded,
  listTaskWebhooks,
  putTaskWebhook,
} from './task-webhooks.ts';
export type { TaskWebhook } from './task-webhooks.ts';
export { fanOut } from './fan-out.ts';
export type { TaskBodies, TaskBody } from './fan-out.ts';
export { failPending, settleWebhooksOf } from './switch-off.ts';
export { claimWebhooks, nextDelivery, releaseWebhook } from './claim.ts';
export type { ClaimedWebhook, PendingDelivery } from './claim.ts';
export { recordAttempt } from './attempt.ts';
export type { Attempt } from './attempt.ts';
export { deleteDeliveriesBefore, switchOffOverfull } from './retention.ts';
export { presentWebhook } from './present.ts';
