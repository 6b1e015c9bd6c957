import { inboxEndpoints as rows } from '@acp/contract';
import {
  inboxLite,
  markAllRead,
  markIssueRead,
  markIssueUnread,
  readInbox,
  snoozeApproval,
  snoozeIssue,
  unsnoozeApproval,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const inboxRoutes: Route[] = [
  handle(rows.lite, (c) => inboxLite(c.tx, c.subject)),
  handle(rows.get, (c) => readInbox(c.tx, c.actor, c.company_id)),
  handle(rows.read, (c) => markIssueRead(c.tx, c.actor, c.subject)),
  handle(rows.unread, (c) => markIssueUnread(c.tx, c.actor, c.subject)),
  handle(rows.snooze, (c) => snoozeIssue(c.tx, c.actor, c.subject, c.body.minutes)),
  handle(rows.snoozeApproval, (c) => snoozeApproval(c.tx, c.actor, c.subject, c.body.minutes)),
  handle(rows.unsnoozeApproval, (c) => unsnoozeApproval(c.tx, c.actor, c.subject)),
  handle(rows.readAll, (c) => markAllRead(c.tx, c.actor, c.company_id)),
];
