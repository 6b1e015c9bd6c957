import type { LanguageModelUsage } from 'ai';
import type { UsageEvent } from '../task.ts';

const charactersPerToken = 4;

/** The estimate for a call whose provider reported nothing, or that broke off after it had begun to answer. */
export function estimatedUsage(model: string, promptLength: number, outputLength: number): UsageEvent {
  return {
    kind: 'usage',
    model,
    input_tokens: Math.ceil(promptLength / charactersPerToken),
    output_tokens: Math.ceil(outputLength / charactersPerToken),
    cached_tokens: 0,
    usage_missing: true,
  };
}

function numberAt(value: unknown, ...path: string[]): number | undefined {
  let at = value;
  for (const name of path) at = typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined;
  return typeof at === 'number' && Number.isFinite(at) ? at : undefined;
}

/** The reported usage; null where the report is missing or empty. */
export function reportedUsage(model: string, usage: LanguageModelUsage): UsageEvent | null {
  const input = usage.inputTokens ?? 0;
  const output = usage.outputTokens ?? 0;
  if (input === 0 && output === 0) return null;
  // family_search is read without its cached tokens by the library: they are in the raw report only.
  const cached =
    usage.inputTokenDetails.cacheReadTokens ??
    numberAt(usage.raw, 'prompt_tokens_details', 'cached_tokens') ??
    numberAt(usage.raw, 'cached_tokens') ??
    0;
  return {
    kind: 'usage',
    model,
    input_tokens: input,
    output_tokens: output,
    cached_tokens: Math.min(cached, input),
  };
}
