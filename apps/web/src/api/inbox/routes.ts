import { inboxEndpoints as rows } from '@acp/contract';
import { inboxLite, markIssueRead, markIssueUnread, readInbox } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const inboxRoutes: Route[] = [
  handle(rows.lite, (c) => inboxLite(c.tx, c.subject)),
  handle(rows.get, (c) => readInbox(c.tx, c.actor, c.company_id)),
  handle(rows.read, (c) => markIssueRead(c.tx, c.actor, c.subject)),
  handle(rows.unread, (c) => markIssueUnread(c.tx, c.actor, c.subject)),
];
