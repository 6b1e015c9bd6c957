/** What waits for an agent (specification, Agents: inbox-lite). */
import { Type } from 'typebox';
import { endpoint } from './endpoint.ts';
import { IssueSummary } from './issues.ts';
import { Wakeup } from './runs.ts';

export const inboxEndpoints = {
  lite: endpoint({
    id: 'inbox.lite',
    method: 'GET',
    path: '/api/agents/me/inbox-lite',
    auth: ['agent'],
    role: 'none',
    scope: { by: 'self' },
    response: Type.Object({ issues: Type.Array(IssueSummary), wakeup_requests: Type.Array(Wakeup) }),
    status: 200,
    tx: 'write',
    doc: 'The agent’s open issues and pending wakeups; the wakeups are consumed.',
  }),
};
