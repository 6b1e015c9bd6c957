import { AdapterError, type AdapterEvent, type AdapterTask, execute } from '@acp/adapters';
import type { ProviderFamily } from '@acp/contract';
import type { ClaimedRun } from '@acp/core';
import { measure, openSpan, type TraceAttributes } from '@acp/kernel';
import { countCall } from './run-metrics.ts';

interface Called {
  run: Pick<ClaimedRun, 'agent_id' | 'issue_id' | 'run_id'>;
  /** A model family, or the adapter. */
  provider: string;
}

/** Follows the semantic conventions for generative AI where they define a name. */
const vendors: Readonly<Record<ProviderFamily, string>> = {
  family_chat_a: 'openai',
  family_chat_b: 'anthropic',
  family_search: 'perplexity',
  family_compat: 'openai_compatible',
  family_cloud: 'aws.bedrock',
};
const vendorOf = (provider: string): string => vendors[provider as ProviderFamily] ?? provider;

/**
 * Calls a model or program. Counts and traces the call from its events: models, tokens and outcome, never content.
 */
export async function* executeObserved(
  { run, provider }: Called,
  task: AdapterTask,
  signal: AbortSignal,
): AsyncIterable<AdapterEvent> {
  const began = performance.now();
  const used = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
  const about: TraceAttributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': vendorOf(provider),
    'gen_ai.request.model': task.model,
  };
  const span = openSpan(`chat ${task.model}`.trim(), {
    kind: 'client',
    attributes: {
      ...about,
      'gen_ai.request.max_tokens': task.max_output_tokens,
      'gen_ai.agent.id': run.agent_id,
      'gen_ai.conversation.id': run.issue_id ?? run.run_id,
    },
  });
  // Still set if the reader leaves early, having stopped the run.
  let outcome = 'cancelled';
  let answered: string | undefined;
  try {
    for await (const event of execute(task, signal)) {
      if (event.kind === 'usage') {
        used.input_tokens += event.input_tokens;
        used.output_tokens += event.output_tokens;
        used.cached_tokens += event.cached_tokens;
        answered = event.model;
      }
      yield event;
    }
    outcome = 'ok';
  } catch (error) {
    outcome = error instanceof AdapterError ? error.category : 'internal';
    throw error;
  } finally {
    const seconds = (performance.now() - began) / 1000;
    countCall(provider, outcome, seconds, used);
    span.set({
      'gen_ai.response.model': answered,
      'gen_ai.usage.input_tokens': used.input_tokens,
      'gen_ai.usage.output_tokens': used.output_tokens,
      'gen_ai.usage.cache_read.input_tokens': used.cached_tokens,
    });
    if (outcome !== 'ok') span.fail(outcome);
    span.end();
    measure(
      'gen_ai.client.operation.duration',
      seconds,
      outcome === 'ok' ? about : { ...about, 'error.type': outcome },
    );
    measure('gen_ai.client.token.usage', used.input_tokens, { ...about, 'gen_ai.token.type': 'input' });
    measure('gen_ai.client.token.usage', used.output_tokens, { ...about, 'gen_ai.token.type': 'output' });
  }
}
