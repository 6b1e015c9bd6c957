import { jobCatalogue } from '@acp/contract';
import { applyApproval, failApproval } from '@acp/core';
import { asServiceError, transaction } from '@acp/db';
import type { JobHandler } from '@acp/queue';
import { installAppliers } from '../installs/installs.ts';
import type { SchedulerContext } from '../context.ts';

const ATTEMPTS = jobCatalogue['apply-approval'].retry_limit + 1;

/**
 * A refusal by the command is shown to people and waits for them. Any other error is retried by the queue, and reported as
 * an internal error once its attempts are used up: otherwise the sweep would retry it forever.
 */
export function applyApprovalJob({ database, logger }: SchedulerContext): JobHandler<'apply-approval'> {
  return async ({ approval_id: id }, { attempt }) => {
    try {
      await transaction(database, async (tx) => applyApproval(tx, id, installAppliers));
    } catch (err) {
      const refusal = asServiceError(err);
      if (refusal?.kind === 'unavailable') throw err;
      if (refusal === null) {
        if (attempt < ATTEMPTS) throw err;
        logger.error('an approval was not carried out', { approval_id: id, error: err });
      }
      await transaction(database, async (tx) => failApproval(tx, id, refusal?.message ?? 'internal error'));
    }
  };
}
