import { commentEndpoints as rows } from '@acp/contract';
import { createComment, listComments, pinComment } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const commentRoutes: Route[] = [
  handle(rows.list, async (ctx) => paged(ctx, await listComments(ctx.tx, ctx.subject, ctx.query))),
  handle(rows.create, (ctx) => createComment(ctx.tx, ctx.actor, ctx.subject, ctx.body)),
  handle(rows.pin, (ctx) => pinComment(ctx.tx, ctx.actor, ctx.subject, ctx.params.commentId!, ctx.body)),
];
