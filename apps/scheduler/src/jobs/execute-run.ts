import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

/**
 * Means that a run is queued. Claims the fairest one, which is not necessarily the one that the job names. The job is done
 * with the claim; the run continues in the pool.
 */
export function executeRunJob({ pool }: SchedulerContext): JobHandler<'execute-run'> {
  return async (_, { completeIn }) => {
    await pool.claimOne(completeIn);
  };
}
