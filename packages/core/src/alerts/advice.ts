import type { AlertKind } from '@acp/contract';

/** Advice on what to do about an alert, for its recipients. */
export const advice: Readonly<Record<AlertKind, string>> = {
  backup_failed: 'The page Backups shows why; fix it, and make one with `ctl db backup`.',
  backup_late: 'See whether a scheduler runs and the schedule is right; make one with `ctl db backup`.',
  budget:
    'Raise the limit, or allow it to continue: work that the budget has stopped waits for that decision.',
  dead_jobs: 'Look for the queue’s name in the schedulers’ logs; sweeps redo the work where they can.',
  disk: 'Free disk space, shorten the retention of runs and backups, or move SERVICE_HOME.',
  key_expiring: 'Mint a new key, give it to whoever uses this one, then revoke this one.',
  license: 'Install a license: `ctl license install`, or the page License.',
  provider_outage:
    'Test the provider on its page: key, quota and address; runs start again by themselves once it answers.',
  scheduler_lost:
    'Look at its machine and log; its runs were done again elsewhere. One that is gone for good is forgotten after an hour.',
  stuck_runs: 'See whether schedulers have free slots (WORKER_POOL_SIZE); cancel runs that will never end.',
  webhook_off: 'Fix the receiver, then enable the webhook again on its page.',
  workers_failing: 'Look for the worker’s name in the schedulers’ logs.',
};
