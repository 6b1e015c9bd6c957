import type { Actor, InstanceSettings, UpdateInstanceSettings } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sweepQueuedRuns } from '../runs/index.ts';
import { changeSettings } from '../settings/index.ts';
import { sweepWakeups } from '../wakeups/index.ts';

/** Agents; what is beyond them is left to the sweeps. */
const MOST_DISPATCHES = 500;

/**
 * Sets instance settings. Where runs may start again, or more of them at once, what has waited is offered at once
 * instead of at the next sweep. @throws invalid
 */
export async function changeInstanceSettings(
  tx: Tx,
  actor: Actor,
  patch: UpdateInstanceSettings,
): Promise<InstanceSettings> {
  const settings = await changeSettings(tx, actor, patch);
  if ('runs_paused' in patch || 'company_max_concurrent_runs' in patch) {
    // However short the stop was: the jobs of all that came into it are spent.
    await sweepQueuedRuns(tx, 0);
    await sweepWakeups(tx, MOST_DISPATCHES, 0);
  }
  return settings;
}
