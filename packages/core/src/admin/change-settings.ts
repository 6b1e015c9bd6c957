import type { Actor, InstanceSettings, UpdateInstanceSettings } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sweepQueuedRuns } from '../runs/index.ts';
import { changeSettings } from '../settings/index.ts';
import { sweepWakeups } from '../wakeups/index.ts';

/** Maximum number of agents dispatched; the rest is left to the sweeps. */
const MOST_DISPATCHES = 500;

/**
 * Sets instance settings. If runs may start again, or more of them at the same time, waiting ones are requeued immediately
 * instead of at the next sweep. @throws invalid
 */
export async function changeInstanceSettings(
  tx: Tx,
  actor: Actor,
  patch: UpdateInstanceSettings,
): Promise<InstanceSettings> {
  const settings = await changeSettings(tx, actor, patch);
  if ('runs_paused' in patch || 'company_max_concurrent_runs' in patch) {
    // Even after a short stop: jobs that were handled during it are gone.
    await sweepQueuedRuns(tx, 0);
    await sweepWakeups(tx, MOST_DISPATCHES, 0);
  }
  return settings;
}
