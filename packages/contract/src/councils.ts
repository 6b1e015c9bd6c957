/** Councils (decisions 3): agents deliberate on an issue in rounds. Each turn is a run of the kind `council_turn`. */
import { Type, type Static } from 'typebox';
import { agentRoles } from './agents.ts';
import { BEARER, endpoint } from './endpoint.ts';
import { EXAMPLE_ID } from './example-id.ts';
import { Nullable, OneOf, PageQuery, Timestamp, Uuid } from './schema-kit.ts';

export const MAX_COUNCIL_ROUNDS = 5;
export const DEFAULT_COUNCIL_ROUNDS = 2;
/** Maximum number of participants. */
export const MAX_COUNCIL_MEMBERS = 10;

export const councilStatuses = ['running', 'completed', 'failed'] as const;
export type CouncilStatus = (typeof councilStatuses)[number];

/** A turn is an answer, a ranking of the answers, or the chair's conclusion. */
export const councilTurnKinds = ['answer', 'ranking', 'conclusion'] as const;
export type CouncilTurnKind = (typeof councilTurnKinds)[number];

export const CouncilParticipant = Type.Object({
  agent_id: Uuid,
  name: Type.String(),
  role: OneOf(agentRoles),
  /** Writes the conclusion: the participant highest in the reporting tree who is still available. */
  is_chair: Type.Boolean(),
  /** Why the council continues without this participant; null if it takes part. */
  left_out_reason: Nullable(Type.String()),
});

export const CouncilTurn = Type.Object({
  agent_id: Uuid,
  /** Rounds of answers are numbered from 1; the ranking and the conclusion follow the last one. */
  round: Type.Integer(),
  kind: OneOf(councilTurnKinds),
  body_markdown: Type.String(),
  /** Whether it differs from the agent's previous answer; true for the first one. */
  is_revised: Type.Boolean(),
  /** For a ranking: the agents whose answers were ranked, best first, without the voter. */
  ranking: Nullable(Type.Array(Uuid)),
  run_id: Uuid,
  finished_at: Timestamp,
});
export type CouncilTurn = Static<typeof CouncilTurn>;

const outline = {
  id: Uuid,
  company_id: Uuid,
  issue_id: Uuid,
  question: Type.String(),
  status: OneOf(councilStatuses),
  /** Maximum number of answer rounds; fewer if no one revises. */
  rounds: Type.Integer(),
  /** The current phase: `answer` with its round, `ranking`, `conclusion`. */
  phase: OneOf(councilTurnKinds),
  round: Type.Integer(),
  participants: Type.Array(CouncilParticipant),
  /** Why it failed. */
  error: Nullable(Type.String()),
  convened_by_agent_id: Nullable(Uuid),
  convened_by_user_id: Nullable(Uuid),
  created_at: Timestamp,
  finished_at: Nullable(Timestamp),
};

/** Without the turns' texts. */
export const CouncilSummary = Type.Object(outline);
export type CouncilSummary = Static<typeof CouncilSummary>;

export const CouncilSession = Type.Object({
  ...outline,
  /** In order of rounds. */
  turns: Type.Array(CouncilTurn),
  /** The agents ranked by the others' votes, best first; null before the ranking or if there was none. */
  ranking: Nullable(Type.Array(Uuid)),
  /** Markdown that attributes dissent by name. */
  conclusion: Nullable(Type.String()),
});
export type CouncilSession = Static<typeof CouncilSession>;

export const ConveneCouncil = Type.Object({
  /** Default: the assignee, its manager, and up to three agents whose roles fit the question. */
  agent_ids: Type.Optional(
    Type.Array(Uuid, { minItems: 2, maxItems: MAX_COUNCIL_MEMBERS, uniqueItems: true }),
  ),
  question: Type.Optional(
    Nullable(Type.String({ minLength: 1, maxLength: 10_000, pattern: '^[^\\u0000]*\\S[^\\u0000]*$' })),
  ),
  rounds: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_COUNCIL_ROUNDS })),
});
export type ConveneCouncil = Static<typeof ConveneCouncil>;

const common = { auth: BEARER, feature: 'councils' } as const;
const ofIssue = { ...common, scope: { by: 'issue', param: 'issueId' } } as const;
const one = {
  ...common,
  path: '/api/council-sessions/{councilSessionId}',
  scope: { by: 'council_session', param: 'councilSessionId' },
} as const;

export const councilEndpoints = {
  convene: endpoint({
    ...ofIssue,
    id: 'councils.convene',
    method: 'POST',
    path: '/api/issues/{issueId}/convene-council',
    role: 'member',
    permission: 'issues.update',
    body: ConveneCouncil,
    body_optional: true,
    response: CouncilSession,
    status: 201,
    tx: 'write',
    example: {
      agent_ids: [EXAMPLE_ID, '7c9e6679-7425-40de-944b-e07fc1f90ae7'],
      question: 'Do we rewrite the checkout, or mend it?',
      rounds: 2,
    },
    doc: 'Convenes a council on the issue: answers in parallel rounds, a ranking, a conclusion by the chair, which becomes a comment and an execution decision and wakes the assignee. Its possible cost is reserved in advance. 409 with `session_id` while one is running there, 404 for another company’s agents, 409 `budget exceeded`.',
  }),
  list: endpoint({
    ...ofIssue,
    id: 'councils.list',
    method: 'GET',
    path: '/api/issues/{issueId}/council-sessions',
    role: 'viewer',
    query: Type.Object({ ...PageQuery }),
    response: Type.Array(CouncilSession),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The councils on the issue, newest first; texts are cut at 1,000 characters.',
  }),
  get: endpoint({
    ...one,
    id: 'councils.get',
    method: 'GET',
    role: 'viewer',
    response: CouncilSession,
    status: 200,
    tx: 'none',
    doc: 'A council with everything said so far. `council_updated` events announce changes.',
  }),
  cancel: endpoint({
    ...one,
    id: 'councils.cancel',
    method: 'POST',
    path: '/api/council-sessions/{councilSessionId}/cancel',
    role: 'member',
    permission: 'issues.update',
    response: CouncilSession,
    status: 200,
    tx: 'write',
    doc: 'Ends a running council without a conclusion: its turns are cancelled and its reservation released. 409 if it has ended.',
  }),
};
