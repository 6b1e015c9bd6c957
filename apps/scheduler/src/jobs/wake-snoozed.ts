import { announceWoken } from '@acp/core';
import { transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

export function wakeSnoozedJob({ database }: SchedulerContext): JobHandler<'wake-snoozed'> {
  return async ({ issue_id, reader_id }) => {
    await transaction(database, async (tx) => announceWoken(tx, issue_id, reader_id));
  };
}
