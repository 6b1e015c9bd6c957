import type { ProviderSpec } from '@acp/adapters';
import { adapterTypes } from '@acp/contract';
import type { PromptAgent } from '@acp/core';
import { createGuardedFetch } from '@acp/kernel';
import type { Config } from '@acp/kernel';
import { RunFailure } from './run-failure.ts';

/** Always sent: what a turn may cost at most is known before it begins (decisions 8.4). */
export const MAX_OUTPUT_TOKENS = 8192;

/** The instance's own provider (SERVICE_DEFAULT_LLM_*); null where none is configured. */
export function defaultProvider(config: Config): ProviderSpec | null {
  const { default_llm_provider: family, default_llm_base_url: baseUrl } = config;
  if (family === null) return null;
  // The key goes to its own base URL, or where the operator says (decisions 7.33); redirects are held to it too.
  const only = baseUrl === null ? {} : { only_hosts: [new URL(baseUrl).host, ...config.llm_allowed_hosts] };
  return {
    family,
    api_key: config.default_llm_api_key,
    base_url: baseUrl,
    fetch: createGuardedFetch({ egress: config.provider_egress, ...only }),
  };
}

export interface ModelChoice {
  provider: ProviderSpec;
  model: string;
}

/**
 * Where the run's turns are computed (specification, behaviour rule 2). An unknown or empty adapter type means `llm`.
 * Throws RunFailure `config`, in words for the agent's owner.
 */
export function chooseModel(
  agent: PromptAgent,
  config: Config,
  instanceProvider: ProviderSpec | null,
): ModelChoice {
  const known = adapterTypes.find((type) => type === agent.adapter_type);
  if (agent.provider_id !== null) {
    throw configFailure(`provider ${agent.provider_id} is not available on this instance`);
  }
  if (known !== undefined && known !== 'llm') {
    throw configFailure(`adapter ${known} is not available on this instance`);
  }
  if (instanceProvider === null) throw configFailure('no LLM provider is configured');
  const model = agent.model ?? config.default_llm_model;
  if (model === null) throw configFailure('no model is configured');
  return { provider: instanceProvider, model };
}

function configFailure(message: string): RunFailure {
  return new RunFailure('config', message);
}
