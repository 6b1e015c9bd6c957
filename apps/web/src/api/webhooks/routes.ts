import { webhookEndpoints as rows } from '@acp/contract';
import {
  createWebhook,
  deleteWebhook,
  listDeliveries,
  listWebhooks,
  redeliver,
  updateWebhook,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const webhookRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listWebhooks(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) =>
    createWebhook(c.tx, c.actor, c.company_id, c.body, c.services.vault, c.services.webhooks),
  ),
  handle(rows.update, (c) =>
    updateWebhook(c.tx, c.actor, c.subject, c.body, c.services.vault, c.services.webhooks),
  ),
  handle(rows.delete, (c) => deleteWebhook(c.tx, c.actor, c.subject)),
  handle(rows.listDeliveries, async (c) => paged(c, await listDeliveries(c.tx, c.subject, c.query))),
  handle(rows.redeliver, (c) => redeliver(c.tx, c.actor, c.subject)),
];
