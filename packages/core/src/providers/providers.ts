import { parseCloudCredentials } from '@acp/contract';
import type { Actor, CreateProvider, Provider, UpdateProvider } from '@acp/contract';
import {
  byCreation,
  containing,
  isUniqueViolation,
  lockByName,
  newestFirst,
  type Page,
  schema,
  type SearchRequest,
  type Tx,
} from '@acp/db';
import { conflict, invalid, newId, notFound, said, type Vault } from '@acp/kernel';
import { and, eq, isNull, ne, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { findInLiveCompany } from '../companies/index.ts';
import { assertBaseUrl, type ProviderRules } from './base-url.ts';
import { dispatchUsers } from './dispatch-users.ts';
import { presentProvider, type ProviderRow } from './present.ts';

const { agents, providers } = schema;

/** Location of key and headers, for the vault: sealed for one row, they can't be opened in another. */
export const providerPlace = (id: string) => `providers/${id}`;

export async function findProvider(tx: Tx, id: string): Promise<ProviderRow | undefined> {
  return findInLiveCompany(tx, providers, id);
}

export async function listProviders(
  tx: Tx,
  company_id: string,
  query: SearchRequest,
): Promise<Page<Provider>> {
  const page = newestFirst(providers.created_at, providers.id, query, 50);
  const rows = tx
    .select()
    .from(providers)
    .where(
      and(
        eq(providers.company_id, company_id),
        containing(query.q, [providers.name, providers.base_url]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentProvider);
}

/**
 * @throws unavailable for a key without an encryption key; conflict if the name is taken; invalid for a base URL that is missing
 * or not allowed, or malformed cloud credentials
 */
export async function createProvider(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateProvider,
  vault: Vault,
  rules: ProviderRules,
): Promise<Provider> {
  const id = newId();
  const after = { adapter_type: input.adapter_type, base_url: blankIsNull(input.base_url) ?? null };
  assertReachable(after, rules);
  const { name, enabled, embeddings = false, is_default = false } = input;
  const embedding_model = blankIsNull(input.embedding_model);
  const default_model = blankIsNull(input.default_model);
  if (is_default) assertModel(default_model);
  const secrets = sealed(id, input, after.adapter_type, vault);
  await holdRoles(tx, company_id, input);
  await clearDefault(tx, company_id, id, { embeddings, is_default });
  await assertRoom(tx, 'providers', company_id);
  const row = await unlessTaken(async () => {
    const chosen = { embeddings, embedding_model, default_model, is_default };
    const values = { id, company_id, name, ...after, enabled, ...chosen, ...secrets };
    const [created] = await tx.insert(providers).values(values).returning();
    return created!;
  });
  await recordChanges(tx, actor, [changeOf(row, 'provider.created')]);
  return presentProvider(row);
}

/**
 * Changes a provider; absent fields stay. Secrets only go where they were meant to: with another family or base URL they must be
 * entered again. `enabled: true` and a new key end a pause. @throws like `createProvider`
 */
export async function updateProvider(
  tx: Tx,
  actor: Actor,
  subject: ProviderRow,
  input: UpdateProvider,
  vault: Vault,
  rules: ProviderRules,
): Promise<Provider> {
  await holdRoles(tx, subject.company_id, input);
  const [before] = await tx.select().from(providers).where(eq(providers.id, subject.id)).for('no key update');
  if (!before) throw notFound();
  const base_url = blankIsNull(input.base_url);
  const after = {
    adapter_type: input.adapter_type ?? (before.adapter_type as Provider['adapter_type']),
    base_url: base_url === undefined ? before.base_url : base_url,
  };
  const moved = after.adapter_type !== before.adapter_type || after.base_url !== before.base_url;
  if (moved) {
    assertReachable(after, rules);
    assertGivenAgain(before, input);
  }
  const { name, enabled, embeddings, is_default } = input;
  const default_model = blankIsNull(input.default_model);
  if (is_default ?? before.is_default)
    assertModel(default_model === undefined ? before.default_model : default_model);
  await clearDefault(tx, before.company_id, before.id, { embeddings, is_default });
  const resumed = enabled === true || input.api_key !== undefined;
  const row = await unlessTaken(async () => {
    const [updated] = await tx
      .update(providers)
      .set({
        name,
        enabled,
        embeddings,
        ...after,
        embedding_model: blankIsNull(input.embedding_model),
        default_model,
        is_default,
        ...sealed(before.id, input, after.adapter_type, vault),
        ...(resumed ? { paused_until: null, pause_reason: null } : {}),
        updated_at: sql`now()`,
      })
      .where(eq(providers.id, before.id))
      .returning();
    return updated!;
  });
  if (resumed && before.paused_until !== null) await dispatchUsers(tx, row.id);
  await recordChanges(tx, actor, [changeOf(row, 'provider.updated', { fields: Object.keys(input) })]);
  return presentProvider(row);
}

/** Deletes it for good: providers have no trash. @throws conflict while an agent uses it (specification, Providers) */
export async function deleteProvider(tx: Tx, actor: Actor, provider: ProviderRow): Promise<void> {
  // Before checking for agents: anyone about to reference it shares this lock.
  await tx.select({ id: providers.id }).from(providers).where(eq(providers.id, provider.id)).for('update');
  const [user] = await tx
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.provider_id, provider.id), isNull(agents.deleted_at)))
    .limit(1);
  if (user) throw conflict('provider is in use by an agent');
  const deleted = await tx
    .delete(providers)
    .where(eq(providers.id, provider.id))
    .returning({ id: providers.id });
  if (deleted.length === 0) throw notFound();
  await recordChanges(tx, actor, [changeOf(provider, 'provider.deleted')]);
}

type Address = Pick<Provider, 'adapter_type' | 'base_url'>;

function assertReachable({ adapter_type, base_url }: Address, rules: ProviderRules): void {
  if (base_url !== null) assertBaseUrl(base_url, rules);
  else if (adapter_type === 'family_compat') throw invalid('base_url is required for family_compat');
}

function assertGivenAgain(before: ProviderRow, input: UpdateProvider): void {
  const missing = [
    ...(before.api_key_sealed !== null && input.api_key === undefined ? ['api_key'] : []),
    ...(before.custom_headers_sealed !== null && input.custom_headers === undefined
      ? ['custom_headers']
      : []),
  ];
  if (missing.length > 0)
    throw invalid(said`a new family or base_url needs ${missing.join(' and ')} again, or null`);
}

/** Only the fields in the input: null clears, absent ones stay. */
function sealed(id: string, input: UpdateProvider, family: string, vault: Vault) {
  const { api_key, custom_headers } = input;
  if (family === 'family_cloud' && typeof api_key === 'string') parseCloudCredentials(api_key);
  const seal = (value: string) => vault.seal(value, providerPlace(id));
  const headers = custom_headers && Object.keys(custom_headers).length > 0 ? custom_headers : null;
  return {
    ...(api_key === undefined ? {} : { api_key_sealed: api_key === null ? null : seal(api_key) }),
    ...(custom_headers === undefined
      ? {}
      : { custom_headers_sealed: headers === null ? null : seal(JSON.stringify(headers)) }),
  };
}

/** Agents without a model get the default one. */
function assertModel(default_model: string | null | undefined): void {
  if (!default_model) throw invalid('is_default needs a default_model');
}

interface Roles {
  embeddings?: boolean | undefined;
  is_default?: boolean | undefined;
}

/** Before any provider is locked: who gives one a role takes it from another, which somebody may be giving the other role. */
async function holdRoles(tx: Tx, company_id: string, { embeddings, is_default }: Roles): Promise<void> {
  if (embeddings === true || is_default === true) await lockByName(tx, `provider roles ${company_id}`);
}

/** A company has at most one provider for embeddings and one default: the most recently chosen. */
async function clearDefault(tx: Tx, company_id: string, id: string, roles: Roles): Promise<void> {
  for (const role of ['embeddings', 'is_default'] as const) {
    if (roles[role] !== true) continue;
    await tx
      .update(providers)
      .set({ [role]: false, updated_at: sql`now()` })
      .where(and(eq(providers.company_id, company_id), ne(providers.id, id), eq(providers[role], true)));
  }
}

async function unlessTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (err) {
    if (isUniqueViolation(err, 'providers_company_name')) throw conflict('a provider already has this name');
    if (isUniqueViolation(err, 'providers_embeddings'))
      throw conflict('another provider has been designated for embeddings in the meantime');
    if (isUniqueViolation(err, 'providers_default'))
      throw conflict('another provider has become the default in the meantime');
    throw err;
  }
}

function blankIsNull(text: string | null | undefined): string | null | undefined {
  return typeof text === 'string' ? text.trim() || null : text;
}

function changeOf(row: ProviderRow, action: string, details: Record<string, unknown> = {}) {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'provider',
    entity_id: row.id,
    details: { name: row.name, adapter_type: row.adapter_type, ...details },
  };
}
