/** A company's knowledge in passages, searched by full text and, if a provider computes embeddings, by meaning. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { OneOf, Uuid } from './schema-kit.ts';

/** `issue`: the outcome of a closed one. `agent_file`: from an agent whose files are shared. */
export const knowledgeTypes = ['note', 'finding', 'document', 'attachment', 'issue', 'agent_file'] as const;

export const KnowledgePassage = Type.Object({
  source_type: OneOf(knowledgeTypes),
  source_id: Uuid,
  /** Title of the source, with the headings that lead to the passage. */
  title: Type.String(),
  /** Markdown, at most about 2,000 characters. */
  text: Type.String(),
  /** Greater than 0, at most 1; comparable only within one response. */
  score: Type.Number(),
  /** Path of the page that shows the source. */
  url: Type.String(),
});
export type KnowledgePassage = Static<typeof KnowledgePassage>;

/** A question or keywords, in any language. */
const Question = Type.String({ maxLength: 2000, pattern: '^[^\\u0000]*$' });

export const SearchKnowledge = Type.Object({
  q: Question,
  /** Default 10, at most 50. */
  limit: Type.Optional(Type.Integer({ minimum: 1 })),
});

export const knowledgeEndpoints = {
  search: endpoint({
    id: 'knowledge.search',
    path: '/api/companies/{companyId}/knowledge/search',
    method: 'GET',
    auth: BEARER,
    role: 'viewer',
    scope: { by: 'company', param: 'companyId' },
    query: Type.Object({ ...SearchKnowledge.properties, q: Type.Optional(Question) }),
    response: Type.Array(KnowledgePassage),
    status: 200,
    tx: 'none',
    doc: 'Passages of notes, findings, documents, files and closed issues that match the question `q`, best first; none without one.',
  }),
};

/** A model's answer to the request for findings. */
export const ExtractedFindings = Type.Object({
  findings: Type.Array(
    Type.Object({
      title: Type.String({ minLength: 3, maxLength: 300, pattern: '\\S' }),
      text: Type.String({ minLength: 1, maxLength: 4000 }),
    }),
    { maxItems: 10 },
  ),
});
export type ExtractedFindings = Static<typeof ExtractedFindings>;
