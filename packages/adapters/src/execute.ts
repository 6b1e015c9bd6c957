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

// `remote` executes nothing here: its run is handed over as a task.
const adapters: ReadonlyMap<string, Adapter> = new Map([
  ['llm', executeLlm],
  ['cli_a_local', cliA],
  ['cli_b_local', cliB],
  ['cli_a_sandbox', cliA],
  ['cli_b_sandbox', cliB],
  ['docker', executeDocker],
  ['lambda', executeLambda],
]);

/**
 * Runs one turn of an agent through its adapter (specification, behaviour rule 2): a provider decides first, then
 * the adapter type; an empty or unknown type is `llm`. What comes is clean and bounded. Throws AdapterError.
 */
export function execute(task: AdapterTask, signal: AbortSignal): AsyncIterable<AdapterEvent> {
  const program = task.provider === null ? adapters.get(task.adapter_type) : undefined;
  const adapter = program ?? executeLlm;
  return cleanEvents(task, adapter(task, signal), adapter === executeLlm ? callLimit(task) : null);
}
