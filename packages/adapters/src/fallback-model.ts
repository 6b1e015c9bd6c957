import type { ProviderFamily } from '@acp/contract';
import { sha256Hex } from '@acp/kernel';
import { probeModels } from './probe-models.ts';
import type { ProviderSpec } from './task.ts';

/** Small models that their vendors keep current under these names. The cloud has none that every account may use. */
const usual: Partial<Record<ProviderFamily, string>> = {
  family_chat_a: 'gpt-5-mini',
  family_chat_b: 'claude-sonnet-4-5',
  family_search: 'sonar',
  // Servers with a single model take any name for it.
  family_compat: 'default',
};

const LISTING_MS = 5000;
/** How long an answer counts, and the lack of one: no run should wait for what the last one was told. */
const KEPT_MS = { listed: 300_000, failed: 30_000 };
const MOST_KEPT = 500;
const kept = new Map<string, { models: readonly string[]; until: number }>();

/** Listed beside chat models, and unable to chat. */
const OTHER_PURPOSE = /embed|rerank|whisper|tts|transcri|moderation|diffusion|image/i;

/**
 * The model for an agent that names a provider, where neither says which: of one's own endpoint a model that it lists, otherwise the
 * instance's (for the same family), otherwise the vendor's usual one.
 * @param instance the instance's own family and model
 * @returns null if a model has to be chosen
 */
export async function fallbackModel(
  provider: ProviderSpec,
  instance: { family: ProviderFamily | null; model: string | null },
): Promise<string | null> {
  const { family } = provider;
  const inherited = instance.family === family ? instance.model : null;
  if (family === 'family_compat') {
    const listed = await chatModelsOf(provider);
    if (inherited !== null && listed.includes(inherited)) return inherited;
    if (listed[0] !== undefined) return listed[0];
  }
  return inherited ?? usual[family] ?? null;
}

async function chatModelsOf(provider: ProviderSpec): Promise<readonly string[]> {
  const { base_url, api_key, custom_headers } = provider;
  const key = sha256Hex(JSON.stringify([base_url, api_key, custom_headers]));
  const known = kept.get(key);
  if (known !== undefined && known.until > Date.now()) return known.models;
  const probe = await probeModels(provider, AbortSignal.timeout(LISTING_MS));
  const models = (probe.models ?? []).filter((model) => !OTHER_PURPOSE.test(model));
  kept.delete(key);
  kept.set(key, { models, until: Date.now() + (probe.ok ? KEPT_MS.listed : KEPT_MS.failed) });
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
  return models;
}
