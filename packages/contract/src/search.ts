/** Search over everything a company works on. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, Uuid } from './schema-kit.ts';

export const foundKinds = ['issue', 'agent', 'project', 'run'] as const;

export const Found = Type.Object({
  kind: OneOf(foundKinds),
  id: Uuid,
  title: Type.String(),
  /** Distinguishes similar results: an identifier, a role, a reason. */
  detail: Nullable(Type.String()),
  status: Type.String(),
  /** Path of its page. */
  url: Type.String(),
});
export type Found = Static<typeof Found>;

export const searchEndpoints = {
  find: endpoint({
    id: 'search.find',
    method: 'GET',
    path: '/api/companies/{companyId}/search',
    auth: BEARER,
    role: 'viewer',
    scope: { by: 'company', param: 'companyId' },
    query: Type.Object({
      q: Type.Optional(Type.String({ maxLength: 200, pattern: '^[^\\u0000]*$' })),
    }),
    response: Type.Array(Found),
    status: 200,
    tx: 'none',
    doc: 'Issues by identifier, title and text, agents and projects by name, and the latest runs of the issues; a few of each, none without `q`.',
  }),
};
