import type { EmbeddingModel } from 'ai';
import { AdapterError } from '../adapter-error.ts';
import type { ProviderSpec } from '../task.ts';
import { CallWatch } from './call-watch.ts';
import { type Connection, connectionTo, presentable } from './connection.ts';
import { failureOfThrown } from './failure.ts';
import { watchedFetch } from './watched-fetch.ts';

interface Embedded {
  /** One per text, in order, normalised to length 1 and all of the same dimension. */
  vectors: Float32Array[];
  /** As reported by the provider, otherwise estimated. */
  tokens: number;
}

const timeouts = { idle_sec: 30, total_sec: 60 };
/** The limit of every index that might store them. */
const MOST_DIMENSIONS = 4000;
const CHARACTERS_PER_TOKEN = 4;

/**
 * Embeds several texts in one call; providers prefer about a hundred. Not retried here: the caller waits or does without.
 * @throws AdapterError
 */
export async function embedTexts(
  provider: ProviderSpec,
  model: string,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Embedded> {
  const connection = connectionTo(provider);
  const watch = new CallWatch(signal, timeouts);
  try {
    const { base_url, fetch } = connection;
    const loaded = await loadEmbeddingModel(
      connection,
      model,
      watchedFetch({ base_url, watch, fetch, stream: false }),
    );
    const { embedMany } = await import('ai');
    const answered = embedMany({
      model: loaded,
      values: [...texts],
      maxRetries: 0,
      abortSignal: watch.signal,
    });
    const { embeddings, usage } = await watch.unlessOver(answered);
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    const told = usage.tokens > 0 ? usage.tokens : Math.ceil(length / CHARACTERS_PER_TOKEN);
    return { vectors: vectorsOf(embeddings, texts.length), tokens: told };
  } catch (thrown) {
    const reason: unknown = watch.signal.aborted ? watch.signal.reason : thrown;
    throw presentable(failureOfThrown(reason), connection.scrubber);
  } finally {
    watch.close();
  }
}

async function loadEmbeddingModel(
  { family, base_url: baseURL, api_key: apiKey, headers, query }: Connection,
  model: string,
  fetch: typeof globalThis.fetch,
): Promise<EmbeddingModel> {
  if (family === 'family_chat_a') {
    const { createOpenAI } = await import('@ai-sdk/openai');
    return createOpenAI({ baseURL, apiKey, headers, fetch }).embedding(model);
  }
  if (family === 'family_compat') {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const options = { baseURL, apiKey, headers, fetch, name: 'compat', queryParams: query };
    return createOpenAICompatible(options).embeddingModel(model);
  }
  throw new AdapterError('config', 'providers of this family compute no embeddings');
}

/** The provider's response is validated, as it is stored and computed with. */
function vectorsOf(embeddings: readonly (readonly number[])[], expected: number): Float32Array[] {
  const dimensions = embeddings[0]?.length ?? 0;
  if (embeddings.length !== expected || dimensions === 0 || dimensions > MOST_DIMENSIONS)
    throw new AdapterError('permanent', 'the provider answered other embeddings than it was asked for');
  return embeddings.map((numbers) => {
    const norm = Math.hypot(...numbers);
    if (numbers.length !== dimensions || !Number.isFinite(norm) || norm === 0)
      throw new AdapterError('permanent', 'the provider answered embeddings that are no vectors');
    return Float32Array.from(numbers, (number) => number / norm);
  });
}
