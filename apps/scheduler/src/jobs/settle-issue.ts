import { settleIssue } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function settleIssueJob({ database }: SchedulerContext): JobHandler<'settle-issue'> {
  return async ({ issue_id: id }) => {
    await transaction(database, async (tx) => settleIssue(tx, id));
  };
}
