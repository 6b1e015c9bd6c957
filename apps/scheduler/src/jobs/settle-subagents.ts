import { settleSubagents } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function settleSubagentsJob({ database }: SchedulerContext): JobHandler<'settle-subagents'> {
  return async ({ agent_id: id }) => {
    await transaction(database, async (tx) => settleSubagents(tx, id));
  };
}
