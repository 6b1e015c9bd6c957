import { approvalEndpoints as rows } from '@acp/contract';
import {
  approve,
  createApproval,
  createApprovalComment,
  decideApprovals,
  listApprovalComments,
  listApprovals,
  presentApproval,
  reject,
  requestRevision,
  resubmitApproval,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const approvalRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listApprovals(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createApproval(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.get, (c) => presentApproval(c.subject)),
  handle(rows.approve, (c) => approve(c.tx, c.actor, c.subject, c.body)),
  handle(rows.reject, (c) => reject(c.tx, c.actor, c.subject, c.body)),
  handle(rows.requestRevision, (c) => requestRevision(c.tx, c.actor, c.subject, c.body)),
  handle(rows.decide, (c) => decideApprovals(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.resubmit, (c) => resubmitApproval(c.tx, c.actor, c.subject, c.body)),
  handle(rows.listComments, async (c) => paged(c, await listApprovalComments(c.tx, c.subject, c.query))),
  handle(rows.createComment, (c) => createApprovalComment(c.tx, c.actor, c.subject, c.body)),
];
