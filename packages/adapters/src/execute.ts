import { adapterTraits, type AdapterTraits } from '@acp/contract';
import { dialectA } from './cli/dialect-a.ts';
import { dialectB } from './cli/dialect-b.ts';
import { executeCli } from './cli/execute-cli.ts';
import { executeLambda } from './cloud/execute-lambda.ts';
import { executeDocker } from './container/execute-docker.ts';
import { cleanEvents } from './clean-events.ts';
import { executeLlm } from './llm/execute-llm.ts';
import { callLimit } from './llm/usage.ts';
import type { AdapterEvent, AdapterTask } from './task.ts';

type Adapter = (task: AdapterTask, signal: AbortSignal) => AsyncIterable<AdapterEvent>;

const cliA: Adapter = (task, signal) => executeCli(dialectA, task, signal);
const cliB: Adapter = (task, signal) => executeCli(dialectB, task, signal);

// A worker's run executes nothing here: it is handed over as a task.
function adapterOf({ runs_as, cli }: AdapterTraits): Adapter {
  if (runs_as === 'function') return executeLambda;
  if (runs_as !== 'program') return executeLlm;
  return cli === null ? executeDocker : { a: cliA, b: cliB }[cli];
}

/**
 * Runs one turn of an agent through its adapter (specification, behaviour rule 2): a provider takes precedence over the
 * adapter type; an empty or unknown type is `llm`. The events are cleaned and bounded. Throws AdapterError.
 */
export function execute(task: AdapterTask, signal: AbortSignal): AsyncIterable<AdapterEvent> {
  const adapter = task.provider === null ? adapterOf(adapterTraits(task.adapter_type)) : executeLlm;
  return cleanEvents(task, adapter(task, signal), adapter === executeLlm ? callLimit(task) : null);
}
