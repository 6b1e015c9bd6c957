/** Endpoints of the runs slice and the live stream (decisions 3, Runs; 4, Live events). */
import { Type } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Run, RunEvent } from './runs.ts';
import { PageQuery, Uuid } from './schema-kit.ts';

const byRun = { by: 'run', param: 'runId' } as const;

const eventsRow = {
  method: 'GET',
  auth: BEARER,
  role: 'viewer',
  scope: byRun,
  query: Type.Object({
    /** A `seq`, a 32-bit integer in the database. */
    after: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 })),
    limit: Type.Optional(Type.Integer({ minimum: 1 })),
  }),
  response: Type.Array(RunEvent),
  status: 200,
  tx: 'none',
  doc: 'The transcript after `after`, ascending by `seq`: 200 entries by default, at most 1000; fewer if they exceed 4 MB: continue after the last one.',
} as const;

export const runEndpoints = {
  invoke: endpoint({
    id: 'runs.invoke',
    method: 'POST',
    path: '/api/agents/{agentId}/heartbeat/invoke',
    auth: BEARER,
    role: 'member',
    scope: { by: 'agent', param: 'agentId' },
    response: Run,
    status: 201,
    tx: 'write',
    doc: 'Creates a run now; 409 if the agent may not be woken. At its concurrency limit the run stays queued.',
  }),
  invokeMe: endpoint({
    id: 'runs.invoke-me',
    method: 'POST',
    path: '/api/agents/me/heartbeat/invoke',
    auth: ['agent'],
    role: 'none',
    scope: { by: 'self' },
    response: Run,
    status: 201,
    tx: 'write',
    doc: 'Invokes the calling agent’s own heartbeat.',
  }),
  triggerIssue: endpoint({
    id: 'runs.trigger-issue',
    method: 'POST',
    path: '/api/issues/{issueId}/trigger-agent',
    auth: BEARER,
    role: 'member',
    scope: { by: 'issue', param: 'issueId' },
    body: Type.Object({
      /** Overrides the agent's model for this run. */
      model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\p{Cc}]*$' })),
    }),
    body_optional: true,
    response: Run,
    status: 201,
    tx: 'write',
    example: {},
    doc: 'Runs the assignee on the issue, with another `model` if a person names one; 400 without an assignee. If the issue has a live run, that one is returned, or 409 if a model is named.',
  }),
  list: endpoint({
    id: 'runs.list',
    method: 'GET',
    path: '/api/companies/{companyId}/heartbeat-runs',
    auth: BEARER,
    role: 'viewer',
    scope: { by: 'company', param: 'companyId' },
    query: Type.Object({
      agentId: Type.Optional(Uuid),
      issueId: Type.Optional(Uuid),
      status: Type.Optional(Type.String({ maxLength: 200 })),
      ...PageQuery,
    }),
    response: Type.Array(Run),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Runs, newest first.',
  }),
  get: endpoint({
    id: 'runs.get',
    method: 'GET',
    path: '/api/heartbeat-runs/{runId}',
    auth: BEARER,
    role: 'viewer',
    scope: byRun,
    response: Run,
    status: 200,
    tx: 'none',
    doc: 'One run.',
  }),
  cancel: endpoint({
    id: 'runs.cancel',
    method: 'POST',
    path: '/api/heartbeat-runs/{runId}/cancel',
    auth: BEARER,
    role: 'member',
    scope: byRun,
    response: Run,
    status: 200,
    tx: 'write',
    doc: 'Cancels a queued run immediately, a running one through its scheduler; 409 for a finished one.',
  }),
  events: endpoint({ ...eventsRow, id: 'runs.events', path: '/api/heartbeat-runs/{runId}/events' }),
  eventsAlias: endpoint({ ...eventsRow, id: 'runs.events-alias', path: '/api/runs/{runId}/events' }),
  transcript: endpoint({
    id: 'runs.transcript',
    method: 'GET',
    path: '/api/heartbeat-runs/{runId}/transcript',
    auth: BEARER,
    role: 'viewer',
    scope: byRun,
    response: null,
    status: 200,
    tx: 'none',
    streams: 'bytes',
    doc: 'The whole transcript as a file download: one line of JSON per entry, ascending by `seq`. Empty for a run that is private to someone else.',
  }),
};

export const liveEndpoints = {
  stream: endpoint({
    id: 'live.stream',
    method: 'GET',
    path: '/api/live/events',
    auth: BEARER,
    role: 'none',
    scope: { by: 'none' },
    query: Type.Object({
      company_id: Type.Optional(Uuid),
      /** Comma-separated: `issues,run:<id>`. */
      topic: Type.Optional(Type.String({ maxLength: 4000 })),
      after: Type.Optional(Type.Integer({ minimum: 0 })),
      /** For browsers: `Bearer <token>`, accepted by this endpoint only. */
      Authorization: Type.Optional(Type.String({ maxLength: 200 })),
    }),
    response: null,
    status: 200,
    tx: 'none',
    streams: 'events',
    doc: 'Server-sent events of the caller’s company; a user’s stream carries all companies of the user, or `company_id`. With `topic`, only events about one of them: `issues` (a board), `comments`, `agents`, `runs`, `projects`, `approvals`, `budgets`, `workers`, `admin`, or `issue:<id>`, `agent:`, `run:`, `approval:`, `chat:`, `council:`; transcripts go to run and issue. It begins with new events, or after `Last-Event-ID` (else `after`): then what was missed comes first, at most ten minutes of it; if more was missed, or the number is none yet, a `reset` does.',
  }),
};
