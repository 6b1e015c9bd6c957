import { AdapterError, type AdapterEvent, type AdapterTask, execute } from '@acp/adapters';
import { countCall } from './run-metrics.ts';

/** What is called, as metrics name it: a family of models, or the adapter. */
interface Called {
  provider: string;
}

/** Calls a model or program and counts it, by what its events say. */
export async function* executeObserved(
  { provider }: Called,
  task: AdapterTask,
  signal: AbortSignal,
): AsyncIterable<AdapterEvent> {
  const began = performance.now();
  const used = { input_tokens: 0, output_tokens: 0 };
  // Left early: its reader has stopped the run.
  let outcome = 'cancelled';
  try {
    for await (const event of execute(task, signal)) {
      if (event.kind === 'usage') {
        used.input_tokens += event.input_tokens;
        used.output_tokens += event.output_tokens;
      }
      yield event;
    }
    outcome = 'ok';
  } catch (error) {
    outcome = error instanceof AdapterError ? error.category : 'internal';
    throw error;
  } finally {
    countCall(provider, outcome, (performance.now() - began) / 1000, used);
  }
}
