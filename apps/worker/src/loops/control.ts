import type { Logger } from '@acp/kernel';
import { BrokenOff, type Hands, type HeldTask } from '../hands.ts';
import { pause } from '../service/backoff.ts';
import { type ControlPlane, Refusal } from '../service/control-plane.ts';
import type { Link } from '../service/link.ts';

interface ControlSettings {
  plane: ControlPlane;
  link: Link;
  hands: Hands;
  logger: Logger;
  every_ms: number;
}

/**
 * Checks whether each task in progress has been cancelled or reassigned (404); if so, it is aborted without a report
 * (specification, Claim and tag rules 5).
 */
export async function watchControl(settings: ControlSettings, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(settings.every_ms, signal);
    await Promise.all(settings.hands.working.map(async (task) => look(settings, task, signal)));
  }
}

async function look(
  { plane, link, logger }: ControlSettings,
  { id, abort }: HeldTask,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (await plane.isCalledOff(id, signal)) {
      logger.info('a task is called off by the service', { task_id: id });
      abort.abort(new BrokenOff('called off by the service'));
    }
    link.works();
  } catch (err) {
    if (signal.aborted) return;
    if (err instanceof Refusal && err.status === 404) {
      logger.warn('a task no longer belongs to this worker', { task_id: id });
      abort.abort(new BrokenOff('not this worker’s any more'));
      return;
    }
    // The task continues: the next check may succeed.
    link.fails(err);
  }
}
