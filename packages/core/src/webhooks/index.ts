/**
 * Owns `webhooks` and `webhook_deliveries`: what happens in a company, sent to its integrators (decisions 10.17), and what
 * becomes of a task, sent to the client who asked for that (those have an `issue_id`).
 * Invariants: a delivery is made with the move of the durable cursor, so that none is lost and none made twice; the
 * deliveries of a webhook go out one after the other in the order of the events; whoever delivers holds its lease.
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
export type { TaskWebhook, TaskWebhookInput } from './task-webhooks.ts';
export { fanOut } from './fan-out.ts';
export type { FanOut, TaskBodies, TaskBody } from './fan-out.ts';
export { claimWebhooks, nextDelivery, releaseWebhook } from './claim.ts';
export type { ClaimedWebhook, PendingDelivery } from './claim.ts';
export { recordAttempt } from './attempt.ts';
export type { Attempt } from './attempt.ts';
export { deleteDeliveriesBefore, switchOffOverfull } from './retention.ts';
export { presentWebhook } from './present.ts';
export type { DeliveryRow, WebhookRow } from './present.ts';
