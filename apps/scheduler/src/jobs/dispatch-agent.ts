import { dispatchAgent } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function dispatchAgentJob({ database }: SchedulerContext): JobHandler<'dispatch-agent'> {
  return async ({ agent_id: id }, { completeIn }) => {
    await transaction(database, async (tx) => {
      await dispatchAgent(tx, id);
      completeIn(tx);
    });
  };
}
