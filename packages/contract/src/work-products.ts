/** The output of work on an issue, and decisions on its execution (specification, Work product; decisions 2). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { JsonObject, Name, Nullable, OneOf, PageQuery, Patch, Text, Timestamp, Uuid } from './schema-kit.ts';

const workProductTypes = [
  'report',
  'pull_request',
  'branch',
  'commit',
  'preview_url',
  'document',
  'artifact',
  'file',
] as const;
const workProductStatuses = ['draft', 'active', 'merged', 'closed', 'failed', 'archived'] as const;
const reviewStates = ['none', 'pending', 'approved', 'changes_requested'] as const;
const healthStatuses = ['unknown', 'healthy', 'degraded', 'failing'] as const;
const decisionTypes = ['auto_assign', 'auto_approve', 'escalate', 'skip'] as const;

export const WorkProduct = Type.Object({
  id: Uuid,
  company_id: Uuid,
  project_id: Nullable(Uuid),
  issue_id: Uuid,
  type: OneOf(workProductTypes),
  provider: Nullable(Type.String()),
  external_id: Nullable(Type.String()),
  title: Type.String(),
  url: Nullable(Type.String()),
  status: OneOf(workProductStatuses),
  review_state: OneOf(reviewStates),
  is_primary: Type.Boolean(),
  health_status: Nullable(OneOf(healthStatuses)),
  summary: Nullable(Type.String()),
  metadata: JsonObject,
  created_by_run_id: Nullable(Uuid),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type WorkProduct = Static<typeof WorkProduct>;

const Short = Type.String({ maxLength: 500, pattern: '^[^\\u0000]*$' });
/** Pages turn it into a link, so only http and https are allowed. */
export const WebUrl = Type.String({ maxLength: 2000, pattern: '^[hH][tT][tT][pP][sS]?://[^\\s\\u0000]+$' });

export const CreateWorkProduct = Type.Object({
  title: Name,
  type: Type.Optional(OneOf(workProductTypes)),
  provider: Type.Optional(Nullable(Short)),
  external_id: Type.Optional(Nullable(Short)),
  url: Type.Optional(Nullable(WebUrl)),
  status: Type.Optional(OneOf(workProductStatuses)),
  review_state: Type.Optional(OneOf(reviewStates)),
  is_primary: Type.Optional(Type.Boolean()),
  health_status: Type.Optional(Nullable(OneOf(healthStatuses))),
  summary: Type.Optional(Nullable(Text)),
  metadata: Type.Optional(JsonObject),
  project_id: Type.Optional(Nullable(Uuid)),
  created_by_run_id: Type.Optional(Nullable(Uuid)),
});
export type CreateWorkProduct = Static<typeof CreateWorkProduct>;

export const UpdateWorkProduct = Patch({
  title: Name,
  url: Nullable(WebUrl),
  status: OneOf(workProductStatuses),
  review_state: OneOf(reviewStates),
  is_primary: Type.Boolean(),
  health_status: Nullable(OneOf(healthStatuses)),
  summary: Nullable(Text),
});
export type UpdateWorkProduct = Static<typeof UpdateWorkProduct>;

export const ExecutionDecision = Type.Object({
  id: Uuid,
  company_id: Uuid,
  issue_id: Uuid,
  decision_type: OneOf(decisionTypes),
  reason: Nullable(Type.String()),
  metadata: JsonObject,
  created_by_agent_id: Nullable(Uuid),
  created_by_user_id: Nullable(Uuid),
  created_at: Timestamp,
});
export type ExecutionDecision = Static<typeof ExecutionDecision>;

export const CreateExecutionDecision = Type.Object({
  decision_type: OneOf(decisionTypes),
  reason: Type.Optional(Nullable(Text)),
  metadata: Type.Optional(JsonObject),
});
export type CreateExecutionDecision = Static<typeof CreateExecutionDecision>;

const byIssue = { by: 'issue', param: 'issueId' } as const;
const byWorkProduct = { by: 'work_product', param: 'workProductId' } as const;

export const workProductEndpoints = {
  list: endpoint({
    id: 'work-products.list',
    method: 'GET',
    path: '/api/issues/{issueId}/work-products',
    auth: BEARER,
    role: 'viewer',
    scope: byIssue,
    query: Type.Object(PageQuery),
    response: Type.Array(WorkProduct),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Work products of the issue, newest first; at most 1,000 or 4 MB unless `limit` is given.',
  }),
  create: endpoint({
    id: 'work-products.create',
    method: 'POST',
    path: '/api/issues/{issueId}/work-products',
    auth: BEARER,
    role: 'member',
    scope: byIssue,
    permission: 'issues.update',
    body: CreateWorkProduct,
    response: WorkProduct,
    status: 201,
    tx: 'write',
    example: { title: 'Backup script', url: 'https://git.example.com/harbour/shop/pull/7' },
    doc: 'Adds a work product: by default an active `artifact` without review. Project and run must belong to the company.',
  }),
  update: endpoint({
    id: 'work-products.update',
    method: 'PATCH',
    path: '/api/work-products/{workProductId}',
    auth: BEARER,
    role: 'member',
    scope: byWorkProduct,
    permission: 'issues.update',
    body: UpdateWorkProduct,
    response: WorkProduct,
    status: 200,
    tx: 'write',
    example: { summary: 'Ready to be merged.' },
    doc: 'Changes a work product.',
  }),
  delete: endpoint({
    id: 'work-products.delete',
    method: 'DELETE',
    path: '/api/work-products/{workProductId}',
    auth: BEARER,
    role: 'member',
    scope: byWorkProduct,
    permission: 'issues.update',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Deletes a work product.',
  }),
  listDecisions: endpoint({
    id: 'execution-decisions.list',
    method: 'GET',
    path: '/api/issues/{issueId}/execution-decisions',
    auth: BEARER,
    role: 'viewer',
    scope: byIssue,
    query: Type.Object(PageQuery),
    response: Type.Array(ExecutionDecision),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Decisions on the execution of the issue, newest first; at most 1,000 or 4 MB unless `limit` is given.',
  }),
  createDecision: endpoint({
    id: 'execution-decisions.create',
    method: 'POST',
    path: '/api/issues/{issueId}/execution-decisions',
    auth: BEARER,
    role: 'member',
    scope: byIssue,
    permission: 'issues.update',
    body: CreateExecutionDecision,
    response: ExecutionDecision,
    status: 201,
    tx: 'write',
    example: { decision_type: 'auto_assign', reason: 'The only one who knows the cellar.' },
    doc: 'Records a decision.',
  }),
};
