import { subagentEndpoints as rows } from '@acp/contract';
import { listSubagents } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const subagentRoutes: Route[] = [
  handle(rows.ofAgent, (c) => listSubagents(c.tx, { agent_id: c.subject.id })),
  handle(rows.ofIssue, (c) => listSubagents(c.tx, { issue_id: c.subject.id })),
];
