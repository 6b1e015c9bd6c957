/** Projects: what issues are grouped by (decisions 3, Projects). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Name, Nullable, OneOf, PageQuery, Patch, Text, Timestamp, Uuid } from './schema-kit.ts';

export const projectStatuses = ['active', 'paused', 'completed', 'archived'] as const;
const fileBackends = ['local', 'module'] as const;

export const Project = Type.Object({
  id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  description: Nullable(Type.String()),
  status: OneOf(projectStatuses),
  goal_id: Nullable(Uuid),
  lead_agent_id: Nullable(Uuid),
  repo_url: Nullable(Type.String()),
  file_backend: OneOf(fileBackends),
  module_endpoint: Nullable(Type.String()),
  default_worker_tags: Type.Array(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Project = Static<typeof Project>;

/** Without its text, as events carry it. */
export const ProjectSummary = Type.Omit(Project, ['description']);
export type ProjectSummary = Static<typeof ProjectSummary>;

const settable = {
  name: Name,
  description: Nullable(Text),
  status: OneOf(projectStatuses),
  goal_id: Nullable(Uuid),
  lead_agent_id: Nullable(Uuid),
  /** As version control spells it: a URL, or `git@host:path`. */
  repo_url: Nullable(Type.String({ minLength: 1, maxLength: 2000, pattern: '^[^\\s\\u0000]+$' })),
  file_backend: OneOf(fileBackends),
  module_endpoint: Nullable(Type.String({ maxLength: 2000, pattern: '^https?://[^\\s\\u0000]+$' })),
  default_worker_tags: Type.Array(
    Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\s\\u0000]+$' }),
    {
      maxItems: 50,
    },
  ),
};
export const UpdateProject = Patch(settable);
export type UpdateProject = Static<typeof UpdateProject>;
export const CreateProject = Type.Object({ ...UpdateProject.properties, name: Name });
export type CreateProject = Static<typeof CreateProject>;

export const ListByStatus = Type.Object({
  /** Comma list. */
  status: Type.Optional(Type.String({ maxLength: 200 })),
  ...PageQuery,
});
export type ListByStatus = Static<typeof ListByStatus>;

const ofCompany = {
  path: '/api/companies/{companyId}/projects',
  auth: BEARER,
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = {
  path: '/api/projects/{projectId}',
  auth: BEARER,
  scope: { by: 'project', param: 'projectId' },
} as const;

export const projectEndpoints = {
  list: endpoint({
    ...ofCompany,
    id: 'projects.list',
    method: 'GET',
    role: 'viewer',
    query: ListByStatus,
    response: Type.Array(Project),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Projects, newest first.',
  }),
  create: endpoint({
    ...ofCompany,
    id: 'projects.create',
    method: 'POST',
    role: 'member',
    body: CreateProject,
    response: Project,
    status: 201,
    tx: 'write',
    example: { name: 'Shop', description: 'The shop on the web.', status: 'active' },
    doc: 'Creates a project.',
  }),
  get: endpoint({
    ...one,
    id: 'projects.get',
    method: 'GET',
    role: 'viewer',
    response: Project,
    status: 200,
    tx: 'none',
    doc: 'The project.',
  }),
  update: endpoint({
    ...one,
    id: 'projects.update',
    method: 'PATCH',
    role: 'member',
    body: UpdateProject,
    response: Project,
    status: 200,
    tx: 'write',
    example: { description: 'The shop on the web.' },
    doc: 'Changes a project.',
  }),
  delete: endpoint({
    ...one,
    id: 'projects.delete',
    method: 'DELETE',
    role: 'member',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Moves the project to the trash; its issues stay.',
  }),
};
