import { advanceCouncil } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function advanceCouncilJob({ database }: SchedulerContext): JobHandler<'advance-council'> {
  return async ({ session_id: id }) => {
    await transaction(database, async (tx) => advanceCouncil(tx, id));
  };
}
