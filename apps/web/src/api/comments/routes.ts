import { commentEndpoints as rows, reactions } from '@acp/contract';
import {
  deleteComment,
  listComments,
  listVersions,
  pinComment,
  react,
  sendComment,
  updateComment,
} from '@acp/core';
import { notFound } from '@acp/kernel';
import { AtCommit } from '../../http/at-commit.ts';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

function reactionOf({ commentId, reaction }: Readonly<Record<string, string>>, on: boolean) {
  const known = reactions.find((each) => each === reaction);
  if (known === undefined) throw notFound();
  return { comment_id: commentId!, reaction: known, on };
}

export const commentRoutes: Route[] = [
  handle(rows.list, async (ctx) => paged(ctx, await listComments(ctx.tx, ctx.subject, ctx.query))),
  handle(rows.create, async (ctx) => {
    const { comment } = await sendComment(ctx.tx, ctx.actor, ctx.subject, ctx.body);
    return new AtCommit(comment);
  }),
  handle(rows.update, (c) => updateComment(c.tx, c.actor, c.subject, c.params.commentId!, c.body)),
  handle(rows.delete, (c) => deleteComment(c.tx, c.actor, c.subject, c.params.commentId!)),
  handle(rows.versions, async (c) =>
    paged(c, await listVersions(c.tx, c.subject, c.params.commentId!, c.query)),
  ),
  handle(rows.react, (c) => react(c.tx, c.actor, c.subject, reactionOf(c.params, true))),
  handle(rows.unreact, (c) => react(c.tx, c.actor, c.subject, reactionOf(c.params, false))),
  handle(rows.pin, (ctx) => pinComment(ctx.tx, ctx.actor, ctx.subject, ctx.params.commentId!, ctx.body)),
];
