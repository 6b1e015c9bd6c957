import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';

/**
 * There is a queued run: the fairest one is claimed, which need not be the one that the job names, and the job is done
 * at the claim. The run goes on in the pool.
 */
export function executeRunJob({ pool }: SchedulerContext): JobHandler<'execute-run'> {
  return async () => {
    await pool.claimOne();
  };
}
