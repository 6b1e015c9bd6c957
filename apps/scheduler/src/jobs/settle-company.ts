import { settleCompany } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function settleCompanyJob({ database }: SchedulerContext): JobHandler<'settle-company'> {
  return async ({ company_id: id }) => {
    await transaction(database, async (tx) => settleCompany(tx, id));
  };
}
