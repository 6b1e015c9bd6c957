import { pluginEndpoints as rows } from '@acp/contract';
import {
  createPlugin,
  listInstancePlugins,
  listPluginAudit,
  listPluginEvents,
  listPluginJobs,
  listPlugins,
  listPluginTools,
  pluginHealth,
  presentPlugin,
  toolsOf,
  webhooksOf,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { change, decide, deliverWebhook, invokeOwnTool, invokeTool, remove, start, stop } from './acts.ts';

export const pluginRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listPlugins(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createPlugin(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.listTools, (c) => listPluginTools(c.tx, c.company_id)),
  handle(rows.invokeTool, invokeTool),
  handle(rows.deliverWebhook, deliverWebhook),
  handle(rows.listAudit, async (c) => paged(c, await listPluginAudit(c.tx, c.company_id, c.query))),
  handle(rows.listInstance, async (c) => paged(c, await listInstancePlugins(c.tx, c.query))),
  handle(rows.get, (c) => presentPlugin(c.subject)),
  handle(rows.update, change),
  handle(rows.delete, remove),
  handle(rows.start, async (c) => start(c, 'start')),
  handle(rows.stop, stop),
  handle(rows.restart, async (c) => start(c, 'restart')),
  handle(rows.allow, async (c) => decide(c, 'allow')),
  handle(rows.ban, async (c) => decide(c, 'ban')),
  handle(rows.rescindBan, async (c) => decide(c, 'rescind-ban')),
  handle(rows.health, (c) => pluginHealth(c.tx, c.subject)),
  handle(rows.listOwnTools, (c) => toolsOf(c.subject)),
  handle(rows.invokeOwnTool, invokeOwnTool),
  handle(rows.listEvents, (c) => listPluginEvents(c.tx, c.subject, c.query)),
  handle(rows.listJobs, (c) => listPluginJobs(c.tx, c.subject)),
  handle(rows.listWebhooks, (c) => webhooksOf(c.subject)),
];
