import { activityEndpoints as rows } from '@acp/contract';
import { issueActivity, listActivity } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const activityRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listActivity(c.tx, c.company_id, c.query))),
  handle(rows.ofIssue, async (c) => paged(c, await issueActivity(c.tx, c.subject, c.query))),
];
