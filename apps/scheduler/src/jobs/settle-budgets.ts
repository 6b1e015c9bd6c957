import { settleBudgets } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function settleBudgetsJob({ database }: SchedulerContext): JobHandler<'settle-budgets'> {
  return async ({ company_id: id }) => {
    await transaction(database, async (tx) => settleBudgets(tx, id));
  };
}
