import { createValidator, TaskResult } from '@acp/contract';
import { completedTask } from '@acp/core';
import { unavailable } from '@acp/kernel';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';
import type { BroughtResult } from '../execution/remote-result.ts';

const readResult = createValidator(TaskResult, 'result');

/**
 * Takes back the run of a completed task and finishes it with the worker's result. Done if the run has already finished. If
 * another scheduler has it, the job is retried, since that one may have died over it.
 */
export function applyRemoteResultJob({
  database,
  pool,
}: SchedulerContext): JobHandler<'apply-remote-result'> {
  return async ({ task_id }) => {
    const task = await completedTask(database.db, task_id);
    if (task === undefined || !task.waiting) return;
    if (await pool.takeBack(task.run_id, broughtBy(task.result))) return;
    const after = await completedTask(database.db, task_id);
    if (after?.waiting) throw unavailable('another scheduler has taken over the run');
  };
}

/** Session and connections are stored with the task but not acted on (specification, Remote workers). */
function broughtBy(stored: unknown): BroughtResult {
  const { summary, model, input_tokens, output_tokens, cached_tokens, cost_usd } = readResult(stored);
  const reportsUsage = [model, input_tokens, output_tokens, cost_usd].some((field) => field !== undefined);
  const usage = {
    model: model || 'unknown',
    input_tokens: input_tokens ?? 0,
    output_tokens: output_tokens ?? 0,
    cached_tokens: Math.min(cached_tokens ?? 0, input_tokens ?? 0),
    usage_missing: input_tokens === undefined || output_tokens === undefined,
    cost_usd,
  };
  return { failure: null, texts: [summary], usage: reportsUsage ? [usage] : [], provider: 'remote' };
}
