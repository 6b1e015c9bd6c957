/** Approvals: actions that a person decides on before they happen (decisions 3, Approvals). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { EXAMPLE_ID } from './example-id.ts';
import {
  JsonObject,
  Name,
  NonBlankText,
  Nullable,
  OneOf,
  PageQuery,
  Patch,
  SearchQuery,
  Text,
  Timestamp,
  Uuid,
} from './schema-kit.ts';

export const approvalTypes = ['hire_agent', 'plan', 'action', 'budget_override', 'install'] as const;
export type ApprovalType = (typeof approvalTypes)[number];

export const approvalStatuses = [
  'pending',
  'approved',
  'rejected',
  'revision_requested',
  'cancelled',
] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];

const installKinds = ['note', 'memory', 'skill', 'routine', 'agent', 'federation'] as const;
export type InstallKind = (typeof installKinds)[number];

/** The payload of an `install`; the payload of a `hire_agent` is a `CreateAgent` body. */
export const InstallPayload = Type.Object({
  kind: OneOf(installKinds),
  /** The body of that resource's POST; for a skill it may also be the text of its SKILL.md. */
  body: Type.Union([JsonObject, Text]),
});
export type InstallPayload = Static<typeof InstallPayload>;

export const Approval = Type.Object({
  id: Uuid,
  company_id: Uuid,
  type: OneOf(approvalTypes),
  title: Type.String(),
  description: Nullable(Type.String()),
  payload: JsonObject,
  status: OneOf(approvalStatuses),
  issue_id: Nullable(Uuid),
  requested_by_agent_id: Nullable(Uuid),
  requested_by_user_id: Nullable(Uuid),
  decision_note: Nullable(Type.String()),
  decided_by_user_id: Nullable(Uuid),
  decided_at: Nullable(Timestamp),
  /** When the approved action was carried out; null before that, and if there is nothing to carry out. */
  applied_at: Nullable(Timestamp),
  /** Why carrying it out failed. */
  apply_error: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Approval = Static<typeof Approval>;

/** The projection used in lists and events: no payload, no description. */
export const ApprovalSummary = Type.Omit(Approval, ['payload', 'description']);
export type ApprovalSummary = Static<typeof ApprovalSummary>;

export const CreateApproval = Type.Object({
  type: OneOf(approvalTypes),
  title: Name,
  description: Type.Optional(Nullable(Text)),
  payload: Type.Optional(JsonObject),
  issue_id: Type.Optional(Nullable(Uuid)),
});
export type CreateApproval = Static<typeof CreateApproval>;

export const ResubmitApproval = Patch({ title: Name, description: Nullable(Text), payload: JsonObject });
export type ResubmitApproval = Static<typeof ResubmitApproval>;

export const ApprovalDecision = Type.Object({
  note: Type.Optional(Nullable(Text)),
  /** `updated_at` of the approval as it was shown; if it has changed since, the decision is refused. */
  updated_at: Type.Optional(Timestamp),
});
export type ApprovalDecision = Static<typeof ApprovalDecision>;

export const DecideApprovals = Type.Object({
  decision: OneOf(['approved', 'rejected', 'revision_requested']),
  /** For the requesters of all of them. */
  note: Type.Optional(Nullable(Text)),
  approvals: Type.Array(
    /** As for a single decision, `updated_at` is that of the version that was shown. */
    Type.Object({ approval_id: Uuid, updated_at: Timestamp }),
    { minItems: 1, maxItems: 100 },
  ),
});
export type DecideApprovals = Static<typeof DecideApprovals>;

export const DecidedApprovals = Type.Object({
  decided: Type.Array(Uuid),
  /** Those that were left as they are, each with the reason: changed since it was shown, or decided already. */
  left_out: Type.Array(Type.Object({ approval_id: Uuid, title: Type.String(), reason: Type.String() })),
});
export type DecidedApprovals = Static<typeof DecidedApprovals>;

export const ApprovalComment = Type.Object({
  id: Uuid,
  approval_id: Uuid,
  author_agent_id: Nullable(Uuid),
  author_user_id: Nullable(Uuid),
  author_user_name: Nullable(Type.String()),
  body_markdown: Type.String(),
  created_at: Timestamp,
});
export type ApprovalComment = Static<typeof ApprovalComment>;

const CreateApprovalComment = Type.Object({
  body_markdown: NonBlankText,
});

const byCompany = { by: 'company', param: 'companyId' } as const;
const byApproval = { by: 'approval', param: 'approvalId' } as const;

/** Agents pass the endpoint's role check and are refused by the command: they can't resolve approvals. */
const resolution = {
  people_only: true,
  method: 'POST',
  auth: BEARER,
  role: 'member',
  scope: byApproval,
  body: ApprovalDecision,
  body_optional: true,
  response: Approval,
  status: 200,
  tx: 'write',
} as const;

export const approvalEndpoints = {
  list: endpoint({
    id: 'approvals.list',
    method: 'GET',
    path: '/api/companies/{companyId}/approvals',
    auth: BEARER,
    role: 'viewer',
    scope: byCompany,
    query: Type.Object({ status: Type.Optional(Type.String({ maxLength: 200 })), ...SearchQuery }),
    response: Type.Array(Approval),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Approvals, newest first, 50 a page; `status` takes a comma-separated list.',
  }),
  create: endpoint({
    id: 'approvals.create',
    method: 'POST',
    path: '/api/companies/{companyId}/approvals',
    auth: BEARER,
    role: 'member',
    scope: byCompany,
    permission: 'approvals.request',
    body: CreateApproval,
    response: Approval,
    status: 201,
    tx: 'write',
    example: { type: 'plan', title: 'Move to the new host', description: 'On Sunday night.' },
    doc: 'Requests an approval. The payload of `hire_agent` is the body of an agent’s POST, that of `install` is `{kind, body}`.',
  }),
  get: endpoint({
    id: 'approvals.get',
    method: 'GET',
    path: '/api/approvals/{approvalId}',
    auth: BEARER,
    role: 'viewer',
    scope: byApproval,
    response: Approval,
    status: 200,
    tx: 'none',
    doc: 'One approval.',
  }),
  approve: endpoint({
    ...resolution,
    id: 'approvals.approve',
    path: '/api/approvals/{approvalId}/approve',
    example: { note: 'Go ahead.' },
    doc: 'Approves; a hire or an install is carried out right after. Retries one that could not be carried out (`apply_error`); otherwise resolved: 409. Agents: 403.',
  }),
  reject: endpoint({
    ...resolution,
    id: 'approvals.reject',
    path: '/api/approvals/{approvalId}/reject',
    example: { note: 'Not this year.' },
    doc: 'Rejects. Already resolved, or changed since `updated_at`: 409. Agents: 403.',
  }),
  requestRevision: endpoint({
    ...resolution,
    id: 'approvals.request-revision',
    path: '/api/approvals/{approvalId}/request-revision',
    example: { note: 'What does it cost?' },
    doc: 'Asks the requester for changes. Already resolved: 409. Agents: 403.',
  }),
  decide: endpoint({
    id: 'approvals.decide',
    people_only: true,
    method: 'POST',
    path: '/api/companies/{companyId}/approvals/decisions',
    auth: BEARER,
    role: 'member',
    scope: byCompany,
    body: DecideApprovals,
    response: DecidedApprovals,
    status: 200,
    tx: 'write',
    example: {
      decision: 'approved',
      approvals: [{ approval_id: EXAMPLE_ID, updated_at: '2026-01-01T00:00:00.000Z' }],
    },
    doc: 'Decides up to 100 approvals alike, each in the version that was shown: `left_out` names those that have changed since, or that are resolved already. Agents: 403.',
  }),
  resubmit: endpoint({
    id: 'approvals.resubmit',
    method: 'POST',
    path: '/api/approvals/{approvalId}/resubmit',
    auth: BEARER,
    role: 'member',
    scope: byApproval,
    body: ResubmitApproval,
    body_optional: true,
    response: Approval,
    status: 200,
    tx: 'write',
    example: { description: 'On Sunday night, for 20 USD.' },
    doc: 'Requests it again: for the requester only, after a request for revision or if the approved act could not be carried out.',
  }),
  listComments: endpoint({
    id: 'approvals.list-comments',
    method: 'GET',
    path: '/api/approvals/{approvalId}/comments',
    auth: BEARER,
    role: 'viewer',
    scope: byApproval,
    query: Type.Object(PageQuery),
    response: Type.Array(ApprovalComment),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Comments, oldest first, 50 a page.',
  }),
  createComment: endpoint({
    id: 'approvals.create-comment',
    method: 'POST',
    path: '/api/approvals/{approvalId}/comments',
    auth: BEARER,
    role: 'member',
    scope: byApproval,
    body: CreateApprovalComment,
    response: ApprovalComment,
    status: 201,
    tx: 'write',
    example: { body_markdown: 'What does it cost?' },
    doc: 'Comments on an approval.',
  }),
};
