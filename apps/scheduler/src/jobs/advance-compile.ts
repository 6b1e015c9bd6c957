import { advanceCompile } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function advanceCompileJob({ database }: SchedulerContext): JobHandler<'advance-compile'> {
  return async ({ index_id: id }) => {
    await transaction(database, async (tx) => advanceCompile(tx, id));
  };
}
