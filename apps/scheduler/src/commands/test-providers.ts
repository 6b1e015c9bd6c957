import {
  fetchFor,
  probeIdentity,
  probeModels,
  type Probe,
  type ProviderSpec,
  smokeTest,
} from '@acp/adapters';
import {
  type CommandCatalogue,
  type InstanceProviderTests,
  type ProviderFamily,
  providerFamilies,
} from '@acp/contract';
import { findProvider, openProvider } from '@acp/core';
import { type Config, notFound } from '@acp/kernel';
import type { CommandHandlers } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';
import { defaultProvider, specOf } from '../execution/provider.ts';

type Handlers = CommandHandlers<CommandCatalogue>;

/** Less than the 30 s within which the caller is answered (decisions 6). */
const TIMEOUT_SEC = 20;

/** The command `test-provider {provider_id}`: lists its models with the stored key; changes nothing. */
export function testProviderCommand({
  database,
  config,
  vault,
}: SchedulerContext): Handlers['test-provider'] {
  return async ({ provider_id }, { signal }) => {
    const row = await findProvider(database.db, provider_id);
    const provider = row && (await openProvider(database.db, row.company_id, row.id, vault));
    if (provider === undefined) throw notFound();
    return probeModels(specOf(provider, config, { database, company_id: row!.company_id }), signal);
  };
}

type Tested = InstanceProviderTests['providers'][number];

/**
 * The command `test-instance-providers`: probes everything configured in the environment, in parallel (specification,
 * Instance administration). The first chat family lists models, the second sends a message of one token, the cloud is
 * asked for the caller's identity; a family without credentials is not probed.
 */
export function testInstanceProvidersCommand(context: SchedulerContext): Handlers['test-instance-providers'] {
  const { config } = context;
  const provider = defaultProvider(config);
  return async (_payload, { signal }) => ({
    providers: await Promise.all(
      providerFamilies.map(async (family): Promise<Tested> => {
        const { kind, probe } = probes[family];
        const about = { provider: family, probe: kind };
        if (provider?.family !== family)
          return { ...about, configured: false, ok: null, model_count: null, latency_ms: null, error: null };
        const model = config.default_llm_model;
        const { models: _, ...came } = await probe(provider, signal, { model, ...config });
        return { ...about, configured: true, ...came };
      }),
    ),
  });
}

interface ProbeSettings extends Pick<Config, 'provider_egress' | 'llm_allowed_hosts'> {
  model: string | null;
}

type ProbeOf = (provider: ProviderSpec, signal: AbortSignal, settings: ProbeSettings) => Promise<Probe>;

const listing = { kind: 'list_models', probe: probeModels } as const;

const probes: Record<ProviderFamily, { kind: Tested['probe']; probe: ProbeOf }> = {
  family_chat_a: listing,
  family_chat_b: { kind: 'message', probe: sendMessage },
  family_search: listing,
  family_compat: listing,
  family_cloud: {
    kind: 'caller_identity',
    // The caller's identity is served by the region's own host, not by the one that runs models.
    probe: (provider, signal, settings) =>
      probeIdentity({ ...provider, base_url: null, fetch: fetchFor(settings, null) }, signal),
  },
};

async function sendMessage(
  provider: ProviderSpec,
  signal: AbortSignal,
  { model }: ProbeSettings,
): Promise<Probe> {
  const { ok, latency_ms, error } = await smokeTest(
    {
      run_id: 'test-instance-providers',
      adapter_type: 'llm',
      provider,
      model: model ?? '',
      system_prompt: '',
      messages: [],
      max_output_tokens: 1,
      timeouts: { idle_sec: TIMEOUT_SEC, total_sec: TIMEOUT_SEC },
      adapter_config: {},
    },
    signal,
  );
  return { ok, model_count: null, models: null, latency_ms, error };
}
