import { smokeTest } from '@acp/adapters';
import type { AdapterTask } from '@acp/adapters';
import {
  adapterTraits,
  type AdapterTest,
  type CommandCatalogue,
  createValidator,
  isAdapterType,
  RemoteConfig,
} from '@acp/contract';
import { findAgent } from '@acp/core';
import type { AgentRow, PromptAgent } from '@acp/core';
import { notFound, Scrubber } from '@acp/kernel';
import type { CommandHandlers } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';
import { planAdapter } from '../execution/plan-adapter.ts';
import type { PlannedTask } from '../execution/plan-adapter.ts';
import { defaultProvider } from '../execution/provider.ts';
import { failureOf } from '../execution/run-failure.ts';
import { discardFolders } from '../programs/agent-folders.ts';

const readRemote = createValidator(RemoteConfig, 'adapter_config');

/** Less than the 30 s within which the caller is answered (decisions 6), leaving time to kill what hangs. */
const TIMEOUT_SEC = 20;
const MAX_OUTPUT_TOKENS = 64;

/**
 * The command `test-adapter {agent_id, adapter_type?}`: one small real call, with the agent's configuration, in a separate
 * folder and session. A failure is its result, not an error.
 */
export function testAdapterCommand(
  context: SchedulerContext,
): CommandHandlers<CommandCatalogue>['test-adapter'] {
  const provider = defaultProvider(context.config);
  return async ({ agent_id, adapter_type }, { command_id, signal }) => {
    const row = await findAgent(context.database.db, agent_id);
    if (row === undefined) throw notFound();
    const agent = promptAgent(row);
    const type = adapter_type ?? effectiveAdapter(agent);
    if (adapterTraits(type).runs_as === 'worker') return testRemote(agent);
    const run = {
      run_id: command_id,
      company_id: row.company_id,
      agent_id,
      issue_id: null,
      api_key: null,
      adapter_type: type,
      // A stored session's folder is the agent's work: a test neither enters nor removes it.
      fresh: true,
    };
    try {
      const plan = await planAdapter({ ...context, provider }, run, agent);
      const scrubber = new Scrubber(plan.secrets);
      try {
        return scrubbed(await smokeTest(smallTask(plan.task, row), signal), scrubber);
      } finally {
        if (plan.folders !== null) await discardFolders(plan.folders);
      }
    } catch (err) {
      const { category, message, cause } = failureOf(err);
      // An internal failure, which only we can fix, is not reported in detail to the caller.
      if (cause !== undefined) throw err;
      return { ok: false, latency_ms: 0, detail: null, error: `${category}: ${message}` };
    }
  };
}

/** As settled by the claim of a run (specification, behaviour rule 2). */
function effectiveAdapter({ provider_id, adapter_type }: PromptAgent): string {
  return provider_id === null && isAdapterType(adapter_type) ? adapter_type : 'llm';
}

function promptAgent(row: AgentRow): PromptAgent {
  const { id, name, role, title, description, system_prompt, adapter_type, provider_id, model } = row;
  const adapter_config = row.adapter_config as Record<string, unknown>;
  return {
    id,
    name,
    role,
    title,
    description,
    system_prompt,
    adapter_type,
    adapter_config,
    provider_id,
    model,
  };
}

function smallTask(task: PlannedTask, agent: AgentRow): AdapterTask {
  const { id, name, role, company_id } = agent;
  return {
    ...task,
    system_prompt: '',
    messages: [],
    max_output_tokens: MAX_OUTPUT_TOKENS,
    timeouts: { idle_sec: TIMEOUT_SEC, total_sec: TIMEOUT_SEC },
    ...(task.program === undefined
      ? {}
      : { program: { ...task.program, timeout_sec: TIMEOUT_SEC, retries: 0 } }),
    // Its wake reason shows that there is nothing to do.
    payload: {
      run_id: task.run_id,
      agent_id: id,
      agent_name: name,
      agent_role: role,
      company_id,
      adapter_type: task.adapter_type,
      wake_reason: 'smoke_test',
      system_prompt: '',
    },
  };
}

/** Queues nothing: a worker is only looked for once there is a task. */
function testRemote(agent: PromptAgent): AdapterTest {
  const { tags = [], local_adapter_type = 'llm' } = readRemote(agent.adapter_config);
  const who = tags.length === 0 ? 'any eligible worker' : `workers with the tags ${tags.join(', ')}`;
  return { ok: true, latency_ms: 0, detail: `tasks are for ${who}, as ${local_adapter_type}`, error: null };
}

function scrubbed(result: AdapterTest, scrubber: Scrubber): AdapterTest {
  const clean = (text: string | null) => (text === null ? null : scrubber.scrub(text));
  return { ...result, detail: clean(result.detail), error: clean(result.error) };
}
