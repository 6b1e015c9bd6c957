import { announceSnoozeEnd, announceApprovalSnoozeEnds } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function wakeSnoozedJob({ database }: SchedulerContext): JobHandler<'wake-snoozed'> {
  return async (job) => {
    await transaction(database, async (tx) =>
      'issue_id' in job
        ? announceSnoozeEnd(tx, job.issue_id, job.reader_id)
        : announceApprovalSnoozeEnds(tx, job.reader_id),
    );
  };
}
