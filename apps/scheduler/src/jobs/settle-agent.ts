import { settleAgent } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function settleAgentJob({ database }: SchedulerContext): JobHandler<'settle-agent'> {
  return async ({ agent_id: id }) => {
    await transaction(database, async (tx) => settleAgent(tx, id));
  };
}
