import type { LanguageModelUsage } from 'ai';
import type { AdapterTask, UsageEvent } from '../task.ts';
import { countImages } from './sight.ts';

const charactersPerToken = 4;
/** Tokens for roles, templates and vendor additions: per call, and per message. */
const CALL_OVERHEAD = 2000;
const MESSAGE_OVERHEAD = 50;
/** Vendors scale larger images down. */
const IMAGE_TOKENS = 10_000;

/** The maximum number of tokens of a model call. */
export interface CallLimit {
  input_tokens: number;
  output_tokens: number;
}

/** Without a tokenizer: in any language and for any model, a token is at least one byte. */
export function callLimit({
  system_prompt,
  messages,
  max_output_tokens: output_tokens,
}: Pick<AdapterTask, 'system_prompt' | 'messages' | 'max_output_tokens'>): CallLimit {
  const input_tokens = messages.reduce(
    (sum, { content }) => sum + Buffer.byteLength(content) + MESSAGE_OVERHEAD,
    Buffer.byteLength(system_prompt) + CALL_OVERHEAD + countImages(messages) * IMAGE_TOKENS,
  );
  return { input_tokens, output_tokens };
}

/** Estimated usage of a call whose provider reported none, or that was interrupted while answering. */
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

/** The reported usage; null if the report is missing or empty. */
export function reportedUsage(model: string, usage: LanguageModelUsage): UsageEvent | null {
  const input = usage.inputTokens ?? 0;
  const output = usage.outputTokens ?? 0;
  if (input === 0 && output === 0) return null;
  // For family_search the library drops cached tokens: they are only in the raw report.
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
