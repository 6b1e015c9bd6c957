import { adapterTraits, verbByName } from '@acp/contract';
import type { ClaimedRun, Tool, ToolRegistry } from '@acp/core';
import type { Database } from '@acp/db';
import type { Config } from '@acp/kernel';
import { outsideToolsManual } from '../verbs/outside-tools.ts';
import { type ExecutionKind, type Prompt, readPayload, type Work } from './kinds/execution-kind.ts';
import type { AdapterPlan, PlannedTask } from './plan-adapter.ts';

/** What the turns of a run begin with. */
export interface TurnInput {
  prompt: Prompt;
  task: PlannedTask;
}

interface Sources {
  database: Database;
  config: Pick<Config, 'public_url'>;
  tools: ToolRegistry;
}

/** Models and CLIs are told in words, other programs by the task payload (specification, Task payload fields). */
export async function turnInput(
  { database, config, tools }: Sources,
  { run, kind, work, plan }: { run: ClaimedRun; kind: ExecutionKind; work: Work; plan: AdapterPlan },
): Promise<TurnInput> {
  const { task, metered } = plan;
  if (adapterTraits(run.adapter_type).told_by === 'prompt') {
    const outside = mayCallTools(kind) ? await tools.outside(database.db, run.company_id, run.actor) : [];
    return { prompt: withTools(work.prompt(metered ? 'model' : 'program'), outside), task };
  }
  const payload = await readPayload(kind, database.db, run, work.knowledge);
  const prompt = { system_prompt: payload.system_prompt, user_message: JSON.stringify(payload, null, 2) };
  // Only what runs here gets the key: what is told to the transcript has none.
  const access =
    run.api_key === null ? {} : { service_api_key: run.api_key, service_base_url: config.public_url };
  return { prompt, task: { ...task, payload: { ...payload, ...access } } };
}

function mayCallTools(kind: ExecutionKind): boolean {
  const row = verbByName.get('mcp:');
  return row !== undefined && kind.verbs(row);
}

function withTools(prompt: Prompt, tools: readonly Tool[]): Prompt {
  const manual = outsideToolsManual(tools);
  return manual === '' ? prompt : { ...prompt, system_prompt: `${prompt.system_prompt}\n\n${manual}` };
}
