import { issueEndpoints as rows } from '@acp/contract';
import {
  addLabel,
  changeIssues,
  checkoutIssue,
  createIssue,
  createIssueWithAttachments,
  createLabel,
  createRelation,
  deleteIssue,
  deleteLabel,
  deleteRelation,
  forceReleaseIssue,
  issueDetail,
  listIssues,
  listLabels,
  listRelations,
  listTrash,
  releaseIssue,
  removeLabel,
  updateIssue,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const issueRoutes: Route[] = [
  handle(rows.list, async (ctx) => paged(ctx, await listIssues(ctx.tx, ctx.company_id, ctx.query))),
  handle(rows.create, ({ tx, actor, company_id, body, files }) =>
    files === undefined
      ? createIssue(tx, actor, company_id, body)
      : createIssueWithAttachments(tx, actor, company_id, body, files),
  ),
  handle(rows.get, (ctx) => issueDetail(ctx.tx, ctx.subject)),
  handle(rows.update, (ctx) => updateIssue(ctx.tx, ctx.actor, ctx.subject, ctx.body)),
  handle(rows.delete, (ctx) => deleteIssue(ctx.tx, ctx.actor, ctx.subject)),
  handle(rows.change, (ctx) => changeIssues(ctx.tx, ctx.actor, ctx.company_id, ctx.body.changes)),
  handle(rows.deleted, async (ctx) =>
    paged(ctx, await listTrash(ctx.tx, { ...ctx.query, company_id: ctx.company_id, type: 'issue' })),
  ),
  handle(rows.checkout, (ctx) => checkoutIssue(ctx.tx, ctx.actor, ctx.subject)),
  handle(rows.release, (ctx) => releaseIssue(ctx.tx, ctx.actor, ctx.subject)),
  handle(rows.forceRelease, (ctx) => forceReleaseIssue(ctx.tx, ctx.actor, ctx.subject)),
  handle(rows.addLabel, (ctx) => addLabel(ctx.tx, ctx.actor, ctx.subject, ctx.params.labelId!)),
  handle(rows.removeLabel, (ctx) => removeLabel(ctx.tx, ctx.actor, ctx.subject, ctx.params.labelId!)),
  handle(rows.listLabels, async (ctx) => paged(ctx, await listLabels(ctx.tx, ctx.company_id, ctx.query))),
  handle(rows.createLabel, (ctx) => createLabel(ctx.tx, ctx.actor, ctx.company_id, ctx.body)),
  handle(rows.deleteLabel, (ctx) => deleteLabel(ctx.tx, ctx.actor, ctx.company_id, ctx.params.labelId!)),
  handle(rows.listRelations, async (ctx) => paged(ctx, await listRelations(ctx.tx, ctx.subject, ctx.query))),
  handle(rows.createRelation, async (ctx) => {
    const { relation, created } = await createRelation(ctx.tx, ctx.actor, ctx.subject, ctx.body);
    ctx.status(created ? 201 : 200);
    return relation;
  }),
  handle(rows.deleteRelation, (ctx) => deleteRelation(ctx.tx, ctx.actor, ctx.subject)),
];
