import { executeLlm } from './llm/execute-llm.ts';
import type { AdapterEvent, AdapterTask } from './task.ts';

type Adapter = (task: AdapterTask, signal: AbortSignal) => AsyncIterable<AdapterEvent>;

const adapters: ReadonlyMap<string, Adapter> = new Map([['llm', executeLlm]]);

/**
 * Runs one turn of an agent through its adapter (specification, behaviour rule 2): a provider decides first, then
 * the adapter type; an empty or unknown type is `llm`. Throws AdapterError.
 */
export function execute(task: AdapterTask, signal: AbortSignal): AsyncIterable<AdapterEvent> {
  const adapter = task.provider === null ? adapters.get(task.adapter_type) : undefined;
  return (adapter ?? executeLlm)(task, signal);
}
