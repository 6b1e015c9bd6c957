import type { AdapterTask } from '@acp/adapters';
import { adapterTraits, verbByName } from '@acp/contract';
import type { ClaimedRun, Tool, ToolRegistry } from '@acp/core';
import type { Database } from '@acp/db';
import type { Config } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import { outsideToolsManual } from '../verbs/outside-tools.ts';
import { type ExecutionKind, type Prompt, readPayload, type Work } from './kinds/execution-kind.ts';
import type { AdapterPlan, PlannedTask } from './plan-adapter.ts';
import { openMessages } from './prompt-images.ts';

/** The starting point of a run's turns. */
export interface TurnInput {
  first: Pick<AdapterTask, 'system_prompt' | 'messages'>;
  task: PlannedTask;
}

interface Sources {
  database: Database;
  config: Pick<Config, 'public_url'>;
  tools: ToolRegistry;
  storage: Storage;
}

/** Models and CLIs get a prompt, other programs the task payload (specification, Task payload fields). */
export async function turnInput(
  { database, config, tools, storage }: Sources,
  { run, kind, work, plan }: { run: ClaimedRun; kind: ExecutionKind; work: Work; plan: AdapterPlan },
  signal: AbortSignal,
): Promise<TurnInput> {
  const { task, metered, sees } = plan;
  if (adapterTraits(run.adapter_type).told_by === 'prompt') {
    const outside = mayCallTools(kind) ? await tools.outside(database.db, run.company_id, run.actor) : [];
    const reader = sees ? 'seeing_model' : metered ? 'model' : 'program';
    const prompt = withTools(work.prompt(reader), outside);
    const { system_prompt } = prompt;
    return { first: { system_prompt, messages: await openMessages(storage, prompt, signal) }, task };
  }
  const payload = await readPayload(kind, database.db, run, work);
  const content = JSON.stringify(payload, null, 2);
  const first = { system_prompt: payload.system_prompt, messages: [{ role: 'user' as const, content }] };
  // Only a local program gets the key: the copy for the transcript has none.
  const access =
    run.api_key === null ? {} : { service_api_key: run.api_key, service_base_url: config.public_url };
  return { first, task: { ...task, payload: { ...payload, ...access } } };
}

function mayCallTools(kind: ExecutionKind): boolean {
  const row = verbByName.get('mcp:');
  return row !== undefined && kind.verbs(row);
}

function withTools(prompt: Prompt, tools: readonly Tool[]): Prompt {
  const manual = outsideToolsManual(tools);
  return manual === '' ? prompt : { ...prompt, system_prompt: `${prompt.system_prompt}\n\n${manual}` };
}
