/** The compiled index: a company's knowledge on one page that agents get in every prompt, with sources for each statement. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { knowledgeTypes } from './knowledge.ts';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';

/** Maximum per page. */
export const MOST_STATEMENTS = 150;

/** `draft` waits for an admin; agents read only the `promoted` one. */
export const indexStatuses = [
  'compiling',
  'draft',
  'promoted',
  'superseded',
  'discarded',
  'failed',
  'cancelled',
] as const;
export type IndexStatus = (typeof indexStatuses)[number];

export const StatementSource = Type.Object({
  /** Null if it no longer exists. */
  source_type: Nullable(OneOf(knowledgeTypes)),
  source_id: Nullable(Uuid),
  title: Nullable(Type.String()),
  /** Path of the page that shows it. */
  url: Nullable(Type.String()),
  /** `changed` since it was read, or `gone`: a statement with a missing source is not shown to agents. */
  state: OneOf(['current', 'changed', 'gone']),
});
export type StatementSource = Static<typeof StatementSource>;

export const CompiledStatement = Type.Object({
  id: Uuid,
  topic: Type.String(),
  text: Type.String(),
  sources: Type.Array(StatementSource),
});
export type CompiledStatement = Static<typeof CompiledStatement>;

const outline = {
  id: Uuid,
  company_id: Uuid,
  version: Type.Integer(),
  status: OneOf(indexStatuses),
  agent_id: Uuid,
  /** Number of source batches, each read by one run. */
  batches: Type.Integer(),
  batches_done: Type.Integer(),
  /** 0 for finished versions, whose statements have been deleted. */
  statement_count: Type.Integer(),
  error: Nullable(Type.String()),
  /** Why it is currently not progressing. */
  waiting_reason: Nullable(Type.String()),
  created_at: Timestamp,
  finished_at: Nullable(Timestamp),
  promoted_at: Nullable(Timestamp),
  promoted_by_user_id: Nullable(Uuid),
};
export const CompiledIndexSummary = Type.Object(outline);
export type CompiledIndexSummary = Static<typeof CompiledIndexSummary>;

export const CompiledIndexVersion = Type.Object({
  ...outline,
  /** Grouped by topic. */
  statements: Type.Array(CompiledStatement),
});
export type CompiledIndexVersion = Static<typeof CompiledIndexVersion>;

export const CompileSettings = Type.Object({
  /** The agent whose model compiles and whose budget pays; null: none. */
  agent_id: Nullable(Uuid),
  /** Null: only on an admin's request. */
  every_hours: Nullable(Type.Integer({ minimum: 1, maximum: 720 })),
});
export type CompileSettings = Static<typeof CompileSettings>;

export const CompiledIndex = Type.Object({
  settings: Type.Object({ ...CompileSettings.properties, next_at: Nullable(Timestamp) }),
  promoted: Nullable(CompiledIndexVersion),
  /** Visible to people; null for agents. */
  draft: Nullable(CompiledIndexVersion),
  compiling: Nullable(CompiledIndexSummary),
  /** The latest ten, newest first. */
  history: Type.Array(CompiledIndexSummary),
  /** Sources that no compilation has read in their current version. */
  unread_sources: Type.Integer(),
});
export type CompiledIndex = Static<typeof CompiledIndex>;

/** The version number identifies the draft: a newer one may have arrived in the meantime. */
export const ChooseDraft = Type.Object({ version: Type.Integer({ minimum: 1 }) });

/** A model's answer to a batch of sources. */
export const CompiledBatch = Type.Object({
  statements: Type.Array(
    Type.Object({
      topic: Type.String({ minLength: 1, maxLength: 500, pattern: '\\S' }),
      text: Type.String({ minLength: 1, maxLength: 4000, pattern: '\\S' }),
      sources: Type.Array(Type.String({ maxLength: 20 }), { maxItems: 50 }),
      replaces: Type.Optional(Type.Array(Type.String({ maxLength: 20 }), { maxItems: 50 })),
    }),
    { maxItems: 100 },
  ),
});
export type CompiledBatch = Static<typeof CompiledBatch>;

const ofCompany = {
  auth: BEARER,
  scope: { by: 'company', param: 'companyId' },
  feature: 'compiled_knowledge',
} as const;
const path = '/api/companies/{companyId}/compiled-index';

export const compiledIndexEndpoints = {
  get: endpoint({
    ...ofCompany,
    id: 'compiled-index.get',
    method: 'GET',
    path,
    role: 'viewer',
    response: CompiledIndex,
    status: 200,
    tx: 'none',
    doc: 'The company’s compiled index: the promoted page that agents read, the draft waiting for an admin (hidden from agents), and the compilation in progress. Drafts are promoted and discarded on the knowledge page.',
  }),
  configure: endpoint({
    ...ofCompany,
    id: 'compiled-index.configure',
    method: 'PUT',
    path: `${path}/settings`,
    role: 'admin',
    body: CompileSettings,
    response: CompiledIndex,
    status: 200,
    tx: 'write',
    doc: 'Sets whose model compiles the index, and how often. 404 for another company’s agent, 400 for one without a model.',
  }),
  compile: endpoint({
    ...ofCompany,
    id: 'compiled-index.compile',
    method: 'POST',
    path: `${path}/compile`,
    role: 'admin',
    response: CompiledIndex,
    status: 201,
    tx: 'write',
    doc: 'Compiles what has changed into a draft. 409 while a compilation is in progress, if nothing has changed, without an agent, or `budget exceeded`.',
  }),
  cancel: endpoint({
    ...ofCompany,
    id: 'compiled-index.cancel',
    method: 'POST',
    path: `${path}/cancel`,
    role: 'admin',
    response: CompiledIndex,
    status: 200,
    tx: 'write',
    doc: 'Stops the compilation in progress; the promoted version stays. 409 if there is none.',
  }),
};
