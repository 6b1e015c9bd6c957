import { taskPayload } from '@acp/core';
import type { ClaimedRun, PromptFacts } from '@acp/core';
import type { Database } from '@acp/db';
import type { Config } from '@acp/kernel';
import type { AdapterPlan, PlannedTask } from './plan-adapter.ts';
import { buildPrompt } from './prompt.ts';
import type { Prompt } from './prompt.ts';
import { RunFailure } from './run-failure.ts';

export interface TaskSettings {
  database: Database;
  config: Pick<Config, 'public_url'>;
}

/** Models and CLIs are told in words, other programs by the task payload (specification, Task payload fields). */
export async function tellTask(
  { database, config }: TaskSettings,
  run: ClaimedRun,
  facts: PromptFacts,
  { task, metered }: AdapterPlan,
): Promise<{ prompt: Prompt; task: PlannedTask }> {
  if (run.adapter_type !== 'docker' && run.adapter_type !== 'lambda')
    return { prompt: buildPrompt(facts, metered ? 'model' : 'program'), task };
  const payload = await taskPayload(database.db, run);
  if (payload === undefined) throw new RunFailure('internal', 'the agent is gone');
  const prompt = { system_prompt: payload.system_prompt, user_message: JSON.stringify(payload, null, 2) };
  // Only what runs here gets the key: what is told to the transcript has none.
  const access =
    run.api_key === null ? {} : { service_api_key: run.api_key, service_base_url: config.public_url };
  return { prompt, task: { ...task, payload: { ...payload, ...access } } };
}
