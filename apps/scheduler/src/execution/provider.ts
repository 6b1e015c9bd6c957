import { fallbackModel, fetchFor } from '@acp/adapters';
import type { ProviderSpec, ReachConfig } from '@acp/adapters';
import { hasProvider, openProvider } from '@acp/core';
import type { PromptAgent, UsableProvider } from '@acp/core';
import type { Database, Tx } from '@acp/db';
import { ServiceError, stated } from '@acp/kernel';
import type { Config, Vault } from '@acp/kernel';
import { listedFetch, type Sender } from '../egress/listed-fetch.ts';
import { RunFailure } from './run-failure.ts';

/** Always sent, so that the maximum cost of a turn is known before it begins (decisions 8.4). */
export const MAX_OUTPUT_TOKENS = 8192;

/** The instance's own provider (SERVICE_DEFAULT_LLM_*); null if none is configured. */
export function defaultProvider(config: Config): ProviderSpec | null {
  const { default_llm_provider: family, default_llm_base_url: base_url } = config;
  if (family === null) return null;
  return { family, api_key: config.default_llm_api_key, base_url, fetch: fetchFor(config, base_url) };
}

/** Converts a company's provider for the adapters, restricted to the company's list. */
export function specOf(
  provider: UsableProvider,
  config: ReachConfig,
  { database, ...sender }: Asking,
): ProviderSpec {
  const { family, api_key, base_url, custom_headers } = provider;
  const held = listedFetch(database, { ...sender, door: 'model' }, fetchFor(config, base_url));
  return { family, api_key, base_url, custom_headers, fetch: held };
}

/** The company and the run that a model is called for. */
export interface Asking extends Omit<Sender, 'door'> {
  database: Database;
}

export interface ModelChoice {
  provider: ProviderSpec;
  model: string;
  /** The company's provider; null for the instance's own. */
  provider_id: string | null;
}

interface ModelSources {
  database: Database;
  config: Config;
  vault: Vault;
  /** The instance's own. */
  provider: ProviderSpec | null;
}

/**
 * Chooses where the run's turns are computed (specification, behaviour rule 2): by the provider that the agent names and
 * no other, else by its company's default, else by the instance's own. Throws RunFailure `config`, or `quota` while a
 * provider is paused, worded for the agent's owner.
 */
export async function chooseModel(
  { database, config, vault, provider }: ModelSources,
  { company_id, run_id }: Pick<Sender, 'company_id' | 'run_id'>,
  agent: Pick<PromptAgent, 'provider_id' | 'default_provider_id' | 'model'>,
): Promise<ModelChoice> {
  const asking = { database, company_id, run_id };
  const own = await openOwn(database.db, company_id, agent, vault);
  if (own !== undefined) {
    const spec = specOf(own, config, asking);
    const { default_llm_provider: family, default_llm_model } = config;
    const model =
      agent.model ?? own.default_model ?? (await fallbackModel(spec, { family, model: default_llm_model }));
    if (model === null) throw new RunFailure('config', 'neither the agent nor its provider names a model');
    return { provider: spec, model, provider_id: own.id };
  }
  if (provider === null) throw new RunFailure('config', await whyNone(database.db, company_id));
  const model =
    agent.model ??
    config.default_llm_model ??
    (await fallbackModel(provider, { family: provider.family, model: null }));
  if (model === null)
    throw new RunFailure('config', 'the agent names no model, and SERVICE_DEFAULT_LLM_MODEL is not set');
  const held = listedFetch(database, { ...asking, door: 'model' }, fetchFor(config, provider.base_url));
  return { provider: { ...provider, fetch: held }, model, provider_id: null };
}

/** Why there is no provider for an agent that names none: the company may have some, but no default. */
async function whyNone(tx: Tx, company_id: string): Promise<string> {
  return (await hasProvider(tx, company_id))
    ? stated(
        'no LLM provider is configured for this agent: choose one for it, or a default provider of the company',
      )
    : stated(
        'no LLM provider is configured: connect a model to the company, or have the operator set SERVICE_DEFAULT_LLM_PROVIDER',
      );
}

/** The company's provider for the agent; undefined if it uses the instance's. */
async function openOwn(
  tx: Tx,
  company_id: string,
  { provider_id, default_provider_id }: Pick<PromptAgent, 'provider_id' | 'default_provider_id'>,
  vault: Vault,
): Promise<UsableProvider | undefined> {
  if (provider_id === null && default_provider_id === null) return undefined;
  let own: UsableProvider | undefined;
  try {
    own = await openProvider(tx, company_id, provider_id ?? default_provider_id ?? null, vault);
  } catch (err) {
    throw err instanceof ServiceError ? new RunFailure('config', err.message) : err;
  }
  if (own === undefined) {
    // The default may have been removed since.
    if (provider_id === null) return undefined;
    throw new RunFailure('config', 'the agent’s provider does not exist');
  }
  if (!own.enabled) throw new RunFailure('config', `provider ${own.name} is disabled`);
  const { paused_until: until, pause_reason: reason } = own;
  if (until === null) return own;
  const why = reason === null ? '' : `: ${reason}`;
  throw new RunFailure('quota', `provider ${own.name} is paused until ${until.toISOString()}${why}`);
}
