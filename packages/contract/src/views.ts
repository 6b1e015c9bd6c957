/** Saved views: named filters for a list of issues. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { issueSorts, issueStatuses, priorities } from './issues.ts';
import { Name, OneOf, PageQuery, Patch, Timestamp, Uuid } from './schema-kit.ts';

export const viewLayouts = ['list', 'board'] as const;
export type ViewLayout = (typeof viewLayouts)[number];

/** Columns of the list in addition to identifier and title. */
export const viewColumns = [
  'status',
  'priority',
  'assignee',
  'project',
  'labels',
  'created',
  'updated',
] as const;
export type ViewColumn = (typeof viewColumns)[number];

/** Absent fields filter nothing. */
export const ViewFilter = Type.Partial(
  Type.Object({
    q: Type.String({ maxLength: 200, pattern: '^[^\\u0000]*$' }),
    status: Type.Array(OneOf(issueStatuses), { maxItems: issueStatuses.length }),
    priority: OneOf(priorities),
    assignee_agent_id: Uuid,
    unassigned: Type.Boolean(),
    project_id: Uuid,
    goal_id: Uuid,
    label_id: Uuid,
    sort: OneOf(issueSorts),
    reverse: Type.Boolean(),
    columns: Type.Array(OneOf(viewColumns), { maxItems: viewColumns.length }),
  }),
  // Of the whole: `Partial` forgets the options of what it is made of.
  { additionalProperties: false },
);
export type ViewFilter = Static<typeof ViewFilter>;

export const SavedView = Type.Object({
  id: Uuid,
  company_id: Uuid,
  /** The user or key that owns it. */
  owner_id: Uuid,
  name: Type.String(),
  layout: OneOf(viewLayouts),
  filter: ViewFilter,
  /** Visible to everyone in the company; otherwise only to its owner. */
  shared: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type SavedView = Static<typeof SavedView>;

const fields = { layout: OneOf(viewLayouts), filter: ViewFilter, shared: Type.Boolean() };
export const CreateView = Type.Object({ name: Name, ...Type.Partial(Type.Object(fields)).properties });
export type CreateView = Static<typeof CreateView>;
export const UpdateView = Patch({ name: Name, ...fields });
export type UpdateView = Static<typeof UpdateView>;

const ofCompany = {
  path: '/api/companies/{companyId}/saved-views',
  auth: BEARER,
  people_only: true,
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = {
  path: '/api/saved-views/{viewId}',
  auth: BEARER,
  people_only: true,
  scope: { by: 'saved_view', param: 'viewId' },
} as const;

export const viewEndpoints = {
  list: endpoint({
    ...ofCompany,
    id: 'views.list',
    method: 'GET',
    role: 'viewer',
    query: Type.Object(PageQuery),
    response: Type.Array(SavedView),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The caller’s own views and shared ones, newest first.',
  }),
  create: endpoint({
    ...ofCompany,
    id: 'views.create',
    method: 'POST',
    role: 'member',
    body: CreateView,
    response: SavedView,
    status: 201,
    tx: 'write',
    example: { name: 'Waiting for review', filter: { status: ['in_review'], sort: 'priority' } },
    doc: 'Saves a view, by default of the list and visible to the caller only. 409 for a name the caller already uses, and above 100 views.',
  }),
  update: endpoint({
    ...one,
    id: 'views.update',
    method: 'PATCH',
    role: 'member',
    body: UpdateView,
    response: SavedView,
    status: 200,
    tx: 'write',
    example: { shared: true },
    doc: 'Changes the caller’s own view, or a shared one.',
  }),
  delete: endpoint({
    ...one,
    id: 'views.delete',
    method: 'DELETE',
    role: 'member',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Deletes a view permanently.',
  }),
};
