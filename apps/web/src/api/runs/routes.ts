import { runEndpoints as rows } from '@acp/contract';
import { cancelRun, invokeAgent, listRunEvents, listRuns, presentRun, triggerIssue } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { sendTranscript } from './send-transcript.ts';

export const runRoutes: Route[] = [
  handle(rows.invoke, (ctx) => invokeAgent(ctx.tx, ctx.actor, ctx.subject)),
  handle(rows.invokeMe, (ctx) => invokeAgent(ctx.tx, ctx.actor, ctx.subject)),
  handle(rows.triggerIssue, (ctx) => triggerIssue(ctx.tx, ctx.actor, ctx.subject, ctx.body?.model)),
  handle(rows.list, async (ctx) => paged(ctx, await listRuns(ctx.tx, ctx.actor, ctx.company_id, ctx.query))),
  handle(rows.get, (ctx) => presentRun(ctx.subject, ctx.actor)),
  handle(rows.cancel, (ctx) => cancelRun(ctx.tx, ctx.actor, ctx.subject)),
  handle(rows.events, (ctx) => listRunEvents(ctx.tx, ctx.actor, ctx.subject.id, ctx.query)),
  handle(rows.transcript, (ctx) => sendTranscript(ctx, ctx.subject)),
  handle(rows.eventsAlias, (ctx) => listRunEvents(ctx.tx, ctx.actor, ctx.subject.id, ctx.query)),
];
