import { advanceEvolution } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function advanceEvolutionJob({ database }: SchedulerContext): JobHandler<'advance-evolution'> {
  return async ({ evolution_id: id }) => {
    await transaction(database, async (tx) => advanceEvolution(tx, id));
  };
}
