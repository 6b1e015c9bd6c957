/** A company's secrets: values that are used but never shown (decisions 3, Secrets). */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, Patch, SearchQuery, Timestamp, Uuid } from './schema-kit.ts';

export const SECRET_NAME = '[A-Z][A-Z0-9_]*';

export const Secret = Type.Object({
  id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  description: Nullable(Type.String()),
  version: Type.Integer(),
  last_used_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Secret = Static<typeof Secret>;

const value = Type.String({ minLength: 1, maxLength: 65_536, pattern: '^[^\\u0000]+$' });
const description = Nullable(Type.String({ maxLength: 2000, pattern: '^[^\\u0000]*$' }));

export const CreateSecret = Type.Object({
  name: Type.String({ maxLength: 100, pattern: `^${SECRET_NAME}$` }),
  value,
  description: Type.Optional(description),
});
export type CreateSecret = Static<typeof CreateSecret>;
export const UpdateSecret = Patch({ value, description });
export type UpdateSecret = Static<typeof UpdateSecret>;

const ofCompany = {
  path: '/api/companies/{companyId}/secrets',
  auth: BEARER,
  role: 'admin',
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = {
  path: '/api/secrets/{secretId}',
  auth: BEARER,
  role: 'admin',
  scope: { by: 'secret', param: 'secretId' },
} as const;

export const secretEndpoints = {
  list: endpoint({
    ...ofCompany,
    id: 'secrets.list',
    method: 'GET',
    query: Type.Object(SearchQuery),
    response: Type.Array(Secret),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Secrets of the company, newest first; without values.',
  }),
  create: endpoint({
    ...ofCompany,
    id: 'secrets.create',
    method: 'POST',
    body: CreateSecret,
    response: Secret,
    status: 201,
    tx: 'write',
    example: { name: 'DEPLOY_TOKEN', value: 'the token itself', description: 'For deployments.' },
    doc: 'Stores a secret; 409 if the name is taken, 503 without an encryption key.',
  }),
  update: endpoint({
    ...one,
    id: 'secrets.update',
    method: 'PATCH',
    body: UpdateSecret,
    response: Secret,
    status: 200,
    tx: 'write',
    example: { value: 'another token' },
    doc: 'Changes the description or the value; a new value is a new version.',
  }),
  delete: endpoint({
    ...one,
    id: 'secrets.delete',
    method: 'DELETE',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Deletes the secret permanently; anything that references it will fail.',
  }),
};
