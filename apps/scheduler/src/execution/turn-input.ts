import type { ClaimedRun } from '@acp/core';
import type { Database } from '@acp/db';
import type { Config } from '@acp/kernel';
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
}

/** Models and CLIs are told in words, other programs by the task payload (specification, Task payload fields). */
export async function turnInput(
  { database, config }: Sources,
  { run, kind, work, plan }: { run: ClaimedRun; kind: ExecutionKind; work: Work; plan: AdapterPlan },
): Promise<TurnInput> {
  const { task, metered } = plan;
  if (run.adapter_type !== 'docker' && run.adapter_type !== 'lambda')
    return { prompt: work.prompt(metered ? 'model' : 'program'), task };
  const payload = await readPayload(kind, database.db, run);
  const prompt = { system_prompt: payload.system_prompt, user_message: JSON.stringify(payload, null, 2) };
  // Only what runs here gets the key: what is told to the transcript has none.
  const access =
    run.api_key === null ? {} : { service_api_key: run.api_key, service_base_url: config.public_url };
  return { prompt, task: { ...task, payload: { ...payload, ...access } } };
}
