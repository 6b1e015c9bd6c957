/** Projects group issues (decisions 3, Projects). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { SECRET_NAME } from './secrets.ts';
import { Name, Nullable, OneOf, Patch, SearchQuery, Text, Timestamp, Uuid } from './schema-kit.ts';

export const projectStatuses = ['active', 'paused', 'completed', 'archived'] as const;
const fileBackends = ['local', 'module'] as const;

/** How the workspaces of a project's issues are created (decisions 10.16). */
const repositorySettings = {
  /** Null: the repository's default branch. */
  base_branch: Nullable(Type.String()),
  /** May contain `{identifier}` and `{slug}`; null: `{identifier}-{slug}`. */
  branch_template: Nullable(Type.String()),
  /** Name of the repository's secret: an HTTPS token, `user:token`, or a private SSH key. */
  repo_secret: Nullable(Type.String()),
  /** Run by `/bin/sh` in a new workspace, and again when its lock files change. */
  setup_command: Nullable(Type.String()),
  /** Run at the end of every run that changed something. */
  check_command: Nullable(Type.String()),
  /** For both commands and the agent's programs; values may be `${secret:NAME}`. */
  env: Type.Unsafe<Record<string, string>>({ type: 'object' }),
  push_after_run: Type.Boolean(),
  /** Merging the pull request closes the issue as done. */
  close_on_merge: Type.Boolean(),
  /** Number of days to keep the folder after the issue is closed. */
  workspace_days: Type.Integer(),
};

const summary = {
  id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  status: OneOf(projectStatuses),
  goal_id: Nullable(Uuid),
  lead_agent_id: Nullable(Uuid),
  repo_url: Nullable(Type.String()),
  file_backend: OneOf(fileBackends),
  module_endpoint: Nullable(Type.String()),
  default_worker_tags: Type.Array(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
};

export const Project = Type.Object({
  ...summary,
  description: Nullable(Type.String()),
  ...repositorySettings,
});
export type Project = Static<typeof Project>;

/** Without text and commands, as used in events. */
export const ProjectSummary = Type.Object(summary);
export type ProjectSummary = Static<typeof ProjectSummary>;

/** Roughly what git accepts; the command checks git's remaining rules. */
export const BRANCH_NAME = '^[A-Za-z0-9_][A-Za-z0-9._/+#@-]{0,199}$';
const BranchName = Type.String({ maxLength: 200, pattern: BRANCH_NAME });
const Command = Type.String({ minLength: 1, maxLength: 4000, pattern: '^[^\\u0000]*\\S[^\\u0000]*$' });

const settable = {
  name: Name,
  description: Nullable(Text),
  status: OneOf(projectStatuses),
  goal_id: Nullable(Uuid),
  lead_agent_id: Nullable(Uuid),
  /** In git's spelling: a URL, or `git@host:path`. */
  repo_url: Nullable(Type.String({ minLength: 1, maxLength: 2000, pattern: '^[^\\s\\u0000]+$' })),
  file_backend: OneOf(fileBackends),
  module_endpoint: Nullable(Type.String({ maxLength: 2000, pattern: '^https?://[^\\s\\u0000]+$' })),
  base_branch: Nullable(BranchName),
  branch_template: Nullable(Type.String({ minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9._/{}-]+$' })),
  repo_secret: Nullable(Type.String({ pattern: `^${SECRET_NAME}$`, maxLength: 200 })),
  setup_command: Nullable(Command),
  check_command: Nullable(Command),
  env: Type.Unsafe<Record<string, string>>({
    type: 'object',
    maxProperties: 100,
    propertyNames: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]{0,99}$' },
    additionalProperties: { type: 'string', maxLength: 10_000, pattern: '^[^\\u0000]*$' },
  }),
  push_after_run: Type.Boolean(),
  close_on_merge: Type.Boolean(),
  workspace_days: Type.Integer({ minimum: 1, maximum: 3650 }),
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
  /** Comma-separated. */
  status: Type.Optional(Type.String({ maxLength: 200 })),
  ...SearchQuery,
});
export type ListByStatus = Static<typeof ListByStatus>;

export const ListProjects = Type.Object({ goalId: Type.Optional(Uuid), ...ListByStatus.properties });
export type ListProjects = Static<typeof ListProjects>;

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
    query: ListProjects,
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
