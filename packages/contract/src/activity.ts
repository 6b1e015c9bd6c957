/** The audit trail of a company (decisions 3, Runs, inbox, activity). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { JsonObject, Nullable, OneOf, PageQuery, Timestamp, Uuid } from './schema-kit.ts';

export const ActivityEntry = Type.Object({
  id: Uuid,
  company_id: Uuid,
  actor_type: OneOf(['user', 'agent', 'board_user', 'system', 'worker']),
  actor_id: Nullable(Uuid),
  actor_name: Type.String(),
  /** `issue.updated`. */
  action: Type.String(),
  entity_type: Type.String(),
  entity_id: Uuid,
  details: JsonObject,
  created_at: Timestamp,
});
export type ActivityEntry = Static<typeof ActivityEntry>;

export const ListActivity = Type.Object({
  entity_type: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  entity_id: Type.Optional(Uuid),
  ...PageQuery,
});
export type ListActivity = Static<typeof ListActivity>;

const read = {
  method: 'GET',
  auth: BEARER,
  role: 'viewer',
  response: Type.Array(ActivityEntry),
  status: 200,
  tx: 'none',
  paged: true,
} as const;

export const activityEndpoints = {
  list: endpoint({
    ...read,
    id: 'activity.list',
    path: '/api/companies/{companyId}/activity',
    scope: { by: 'company', param: 'companyId' },
    query: ListActivity,
    doc: 'Activity in the company, newest first.',
  }),
  ofIssue: endpoint({
    ...read,
    id: 'activity.of-issue',
    path: '/api/issues/{issueId}/activity',
    scope: { by: 'issue', param: 'issueId' },
    query: Type.Object(PageQuery),
    doc: 'Activity on the issue, newest first.',
  }),
};
