/** Goals: the reasons behind the work, as a tree (decisions 3, Goals). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { ListByStatus } from './projects.ts';
import { Name, Nullable, OneOf, Patch, Text, Timestamp, Uuid } from './schema-kit.ts';

export const goalLevels = ['company', 'team', 'agent', 'task'] as const;
export const goalStatuses = ['planned', 'active', 'achieved', 'cancelled'] as const;

export const Goal = Type.Object({
  id: Uuid,
  company_id: Uuid,
  parent_goal_id: Nullable(Uuid),
  title: Type.String(),
  description: Nullable(Type.String()),
  level: OneOf(goalLevels),
  status: OneOf(goalStatuses),
  owner_agent_id: Nullable(Uuid),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Goal = Static<typeof Goal>;

export const UpdateGoal = Patch({
  title: Name,
  description: Nullable(Text),
  level: OneOf(goalLevels),
  status: OneOf(goalStatuses),
  parent_goal_id: Nullable(Uuid),
  owner_agent_id: Nullable(Uuid),
});
export type UpdateGoal = Static<typeof UpdateGoal>;
export const CreateGoal = Type.Object({ ...UpdateGoal.properties, title: Name });
export type CreateGoal = Static<typeof CreateGoal>;

const ofCompany = {
  path: '/api/companies/{companyId}/goals',
  auth: BEARER,
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = { path: '/api/goals/{goalId}', auth: BEARER, scope: { by: 'goal', param: 'goalId' } } as const;

export const goalEndpoints = {
  list: endpoint({
    ...ofCompany,
    id: 'goals.list',
    method: 'GET',
    role: 'viewer',
    query: ListByStatus,
    response: Type.Array(Goal),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Goals, newest first.',
  }),
  create: endpoint({
    ...ofCompany,
    id: 'goals.create',
    method: 'POST',
    role: 'member',
    body: CreateGoal,
    response: Goal,
    status: 201,
    tx: 'write',
    example: { title: 'Sell twice as much', description: 'Until the end of the year.' },
    doc: 'Creates a goal, of the company and active unless said.',
  }),
  get: endpoint({
    ...one,
    id: 'goals.get',
    method: 'GET',
    role: 'viewer',
    response: Goal,
    status: 200,
    tx: 'none',
    doc: 'The goal.',
  }),
  update: endpoint({
    ...one,
    id: 'goals.update',
    method: 'PATCH',
    role: 'member',
    body: UpdateGoal,
    response: Goal,
    status: 200,
    tx: 'write',
    example: { description: 'Until the end of the year.' },
    doc: 'Changes a goal; 400 if its new parent is below it.',
  }),
  delete: endpoint({
    ...one,
    id: 'goals.delete',
    method: 'DELETE',
    role: 'member',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Moves the goal to the trash; the goals below it count as absent until it is restored.',
  }),
};
