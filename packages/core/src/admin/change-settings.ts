import type { Actor, InstanceSettings, UpdateInstanceSettings } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sweepQueuedRuns } from '../runs/index.ts';
import { changeSettings } from '../settings/index.ts';
import { sweepWakeups } from '../wakeups/index.ts';

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
    await sweepQueuedRuns(tx);
    await sweepWakeups(tx);
  }
  return settings;
}
