/** Task sessions: an agent's work on an issue across several runs (specification, Agent, Task session). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { EXAMPLE_ID } from './example-id.ts';
import { Nullable, OneOf, PageQuery, Text, Timestamp, Uuid } from './schema-kit.ts';

const taskSessionStatuses = ['active', 'completed', 'abandoned'] as const;

export const TaskSession = Type.Object({
  id: Uuid,
  agent_id: Uuid,
  issue_id: Uuid,
  /** The session's latest run. */
  run_id: Nullable(Uuid),
  status: OneOf(taskSessionStatuses),
  summary: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type TaskSession = Static<typeof TaskSession>;

export const CreateTaskSession = Type.Object({
  issue_id: Uuid,
  run_id: Type.Optional(Nullable(Uuid)),
});
export type CreateTaskSession = Static<typeof CreateTaskSession>;
export const UpdateTaskSession = Type.Object({
  status: OneOf(taskSessionStatuses),
  summary: Type.Optional(Nullable(Text)),
  run_id: Type.Optional(Nullable(Uuid)),
});
export type UpdateTaskSession = Static<typeof UpdateTaskSession>;

const ofAgent = {
  path: '/api/agents/{agentId}/task-sessions',
  auth: BEARER,
  scope: { by: 'agent', param: 'agentId' },
} as const;

export const taskSessionEndpoints = {
  list: endpoint({
    ...ofAgent,
    id: 'task-sessions.list',
    method: 'GET',
    role: 'viewer',
    query: Type.Object(PageQuery),
    response: Type.Array(TaskSession),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The agent’s task sessions, newest first; at most 1,000 or 4 MB unless a limit is given.',
  }),
  create: endpoint({
    ...ofAgent,
    id: 'task-sessions.create',
    method: 'POST',
    role: 'member',
    body: CreateTaskSession,
    response: TaskSession,
    status: 201,
    tx: 'write',
    example: { issue_id: EXAMPLE_ID },
    doc: 'Opens a session of the agent on an issue, or returns the active one. An agent can only open its own.',
  }),
  update: endpoint({
    id: 'task-sessions.update',
    method: 'PATCH',
    path: '/api/task-sessions/{taskSessionId}',
    auth: BEARER,
    role: 'member',
    scope: { by: 'task_session', param: 'taskSessionId' },
    body: UpdateTaskSession,
    response: TaskSession,
    status: 200,
    tx: 'write',
    example: { status: 'completed', summary: 'All backups are green.' },
    doc: 'Sets status, summary and run. An agent can only change its own.',
  }),
};
