/** A company's LLM providers (specification, Providers; decisions 3). Keys and headers are write-only. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Name, Nullable, OneOf, Patch, SearchQuery, Timestamp, Uuid } from './schema-kit.ts';

/** The specification's vendor families, by neutral name. */
export const providerFamilies = [
  'family_chat_a',
  'family_chat_b',
  'family_search',
  'family_compat',
  'family_cloud',
] as const;
export type ProviderFamily = (typeof providerFamilies)[number];

/** Default base URL of each family; null: none, or determined by the region in its credentials. */
export const vendorBaseUrls: Record<ProviderFamily, string | null> = {
  family_chat_a: 'https://api.openai.com/v1',
  family_chat_b: 'https://api.anthropic.com/v1',
  family_search: 'https://api.perplexity.ai',
  family_compat: null,
  family_cloud: null,
};

/** Families that can compute embeddings. */
export const embeddingFamilies: readonly ProviderFamily[] = ['family_chat_a', 'family_compat'];

export const Provider = Type.Object({
  id: Uuid,
  company_id: Uuid,
  name: Type.String(),
  adapter_type: OneOf(providerFamilies),
  has_api_key: Type.Boolean(),
  has_custom_headers: Type.Boolean(),
  base_url: Nullable(Type.String()),
  enabled: Type.Boolean(),
  /** Selected for embeddings: at most one per company. */
  embeddings: Type.Boolean(),
  /** Null: the engine's default. */
  embedding_model: Nullable(Type.String()),
  /** For agents that use the provider without naming a model. */
  default_model: Nullable(Type.String()),
  /** Used by agents that name no provider: at most one per company. */
  is_default: Type.Boolean(),
  /** Set after a quota error: no calls are made until then. */
  paused_until: Nullable(Timestamp),
  pause_reason: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Provider = Static<typeof Provider>;

/** Valid HTTP headers; no value can break out of its line. */
const CustomHeaders = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 50,
  propertyNames: { pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$" },
  additionalProperties: { type: 'string', maxLength: 8192, pattern: '^[\\u0020-\\u007e]*$' },
});

const settable = {
  adapter_type: OneOf(providerFamilies),
  /** For `family_cloud`, the JSON credentials. */
  api_key: Nullable(Type.String({ minLength: 1, maxLength: 16_384, pattern: '^[^\\u0000]+$' })),
  custom_headers: Nullable(CustomHeaders),
  base_url: Nullable(Type.String({ maxLength: 2000, pattern: '^[^\\u0000]*$' })),
  enabled: Type.Boolean(),
  embeddings: Type.Boolean(),
  /** Blank means the engine's default. */
  embedding_model: Nullable(Type.String({ maxLength: 200, pattern: '^[^\\u0000]*$' })),
  /** Blank means none. */
  default_model: Nullable(Type.String({ maxLength: 200, pattern: '^[^\\u0000]*$' })),
  /** Requires a `default_model`. */
  is_default: Type.Boolean(),
};

export const CreateProvider = Type.Object({
  name: Name,
  ...Patch(settable).properties,
  adapter_type: settable.adapter_type,
});
export type CreateProvider = Static<typeof CreateProvider>;
export const UpdateProvider = Patch({ name: Name, ...settable });
export type UpdateProvider = Static<typeof UpdateProvider>;

/** Outcome of a probe; a failed probe is a result, not an error. */
export const ProviderTest = Type.Object({
  ok: Type.Boolean(),
  /** Null if the probe failed or does not list models. */
  model_count: Nullable(Type.Integer()),
  /** Ids of at most 500 of them, sorted; null as above. */
  models: Nullable(Type.Array(Type.String())),
  latency_ms: Type.Integer(),
  error: Nullable(Type.String()),
});
export type ProviderTest = Static<typeof ProviderTest>;

/** For each family, whether the instance's environment configures it, and the outcome of its probe. */
export const InstanceProviderTests = Type.Object({
  providers: Type.Array(
    Type.Object({
      provider: OneOf(providerFamilies),
      configured: Type.Boolean(),
      /** `list_models`, `message` (one token) or `caller_identity`. */
      probe: OneOf(['list_models', 'message', 'caller_identity']),
      ok: Nullable(Type.Boolean()),
      model_count: Nullable(Type.Integer()),
      latency_ms: Nullable(Type.Integer()),
      error: Nullable(Type.String()),
    }),
  ),
});
export type InstanceProviderTests = Static<typeof InstanceProviderTests>;

/** Payload of the awaited command `test-provider`. */
export const TestProviderCommand = Type.Object({ provider_id: Uuid });

const ofCompany = {
  path: '/api/companies/{companyId}/providers',
  auth: BEARER,
  role: 'admin',
  scope: { by: 'company', param: 'companyId' },
} as const;
const one = {
  path: '/api/providers/{providerId}',
  auth: BEARER,
  role: 'admin',
  scope: { by: 'provider', param: 'providerId' },
} as const;

export const providerEndpoints = {
  list: endpoint({
    ...ofCompany,
    id: 'providers.list',
    method: 'GET',
    query: Type.Object(SearchQuery),
    response: Type.Array(Provider),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'Providers of the company, newest first; without keys and headers.',
  }),
  create: endpoint({
    ...ofCompany,
    id: 'providers.create',
    method: 'POST',
    body: CreateProvider,
    response: Provider,
    status: 201,
    tx: 'write',
    example: { name: 'Models', adapter_type: 'family_chat_a', api_key: 'the key itself' },
    doc: 'Adds a provider; 409 if the name is taken, 503 for a key without an encryption key, 400 for a forbidden base URL.',
  }),
  get: endpoint({
    ...one,
    id: 'providers.get',
    method: 'GET',
    response: Provider,
    status: 200,
    tx: 'none',
    doc: 'The provider, without key and headers.',
  }),
  update: endpoint({
    ...one,
    id: 'providers.update',
    method: 'PATCH',
    body: UpdateProvider,
    response: Provider,
    status: 200,
    tx: 'write',
    example: { enabled: true },
    doc: 'Changes a provider. Another family or base URL requires its secrets again, so that they don’t leak elsewhere; `enabled: true` ends a pause.',
  }),
  delete: endpoint({
    ...one,
    id: 'providers.delete',
    method: 'DELETE',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Deletes the provider permanently; 409 while an agent uses it.',
  }),
  test: endpoint({
    ...one,
    id: 'providers.test',
    path: '/api/providers/{providerId}/test',
    method: 'POST',
    response: ProviderTest,
    status: 200,
    tx: 'none',
    doc: 'Has a scheduler list the provider’s models with the stored key; 503 if none responds within 30 s. A failure leaves the provider enabled.',
  }),
  testInstance: endpoint({
    id: 'providers.test-instance',
    path: '/admin/operations/providers/test',
    method: 'POST',
    auth: BEARER,
    role: 'instance_admin',
    scope: { by: 'none' },
    query: Type.Object({ format: Type.Optional(Type.String()) }),
    response: null,
    status: 200,
    tx: 'none',
    streams: true,
    doc: 'Probes what the environment configures: JSON with `Accept: application/json` or `?format=json`, otherwise a page.',
  }),
};
