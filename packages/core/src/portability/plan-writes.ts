/** Rows for a bundle's providers and budget policies, which depend on those that the company already has. */
import type { CompanyBundle } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { eq } from 'drizzle-orm';
import type { NewPolicy } from '../budgets/index.ts';
import type { NewProvider } from '../providers/index.ts';
import type { BundleIds } from './bundle-ids.ts';
import { keyOf } from './bundle-places.ts';
import type { FoundKey } from './provider-keys.ts';

const { budget_policies, providers } = schema;

export interface PlannedProviders {
  rows: NewProvider[];
  without_key: string[];
  keys_from_env: [label: string, variable: string, base_url: string | null][];
  kept_roles: string[];
}

/** A company keeps its own default provider and its provider of embeddings. */
export async function planProviders(
  tx: Tx,
  company_id: string,
  ids: BundleIds,
  keys: ReadonlyMap<string, FoundKey>,
): Promise<PlannedProviders> {
  const fresh = ids.fresh('providers');
  const plan: PlannedProviders = { rows: [], without_key: [], keys_from_env: [], kept_roles: [] };
  if (fresh.length === 0) return plan;
  const present = await tx
    .select({ embeddings: providers.embeddings, is_default: providers.is_default })
    .from(providers)
    .where(eq(providers.company_id, company_id));
  const taken = (role: 'embeddings' | 'is_default') => present.some((each) => each[role]);
  for (const provider of fresh) {
    const { id, label, needs_api_key = true, enabled = true } = provider;
    const found = keys.get(keyOf('providers', label));
    const missing = needs_api_key && found === undefined;
    if (missing) plan.without_key.push(label);
    if (found?.variable) plan.keys_from_env.push([label, found.variable, provider.base_url ?? null]);
    if (provider.is_default && taken('is_default'))
      plan.kept_roles.push(`The company keeps its default provider: ${label} does not replace it.`);
    if (provider.embeddings && taken('embeddings'))
      plan.kept_roles.push(`The company keeps its provider of embeddings: ${label} does not replace it.`);
    plan.rows.push({
      id,
      name: label,
      adapter_type: provider.adapter_type,
      base_url: provider.base_url?.trim() || null,
      enabled: enabled && !missing,
      embeddings: provider.embeddings === true && !taken('embeddings'),
      embedding_model: provider.embedding_model?.trim() || null,
      default_model: provider.default_model?.trim() || null,
      is_default: provider.is_default === true && !taken('is_default'),
      api_key: found?.api_key ?? null,
    });
  }
  return plan;
}

/** There is one policy per scope and window: the company's own takes precedence over the bundle's. */
export async function planPolicies(
  tx: Tx,
  company_id: string,
  bundle: CompanyBundle,
  ids: BundleIds,
): Promise<NewPolicy[]> {
  const wanted = ids.fresh('budget_policies');
  if (wanted.length === 0) return [];
  const present = await tx
    .select({ scope_id: budget_policies.scope_id, window: budget_policies.window })
    .from(budget_policies)
    .where(eq(budget_policies.company_id, company_id));
  const known = new Set(present.map(({ scope_id, window }) => `${scope_id} ${window}`));
  return wanted.flatMap((policy) => {
    const { id, scope_type, window, scope, limit_usd } = policy;
    const scope_id = scope ? ids.of(scope_type === 'project' ? 'projects' : 'agents', scope) : company_id;
    if (known.has(`${scope_id} ${window}`)) {
      const name = `${scope ?? bundle.company.name}, per ${window}`;
      ids.skipped.push({ type: 'budget_policies', name, reason: 'the company has it already' });
      return [];
    }
    const { warn_percent = 80, action = 'notify', enabled = true } = policy;
    return [{ id, scope_type, scope_id, window, limit_usd, warn_percent, action, enabled }];
  });
}
