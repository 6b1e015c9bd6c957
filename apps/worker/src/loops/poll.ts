import type { RemoteTask } from '@acp/contract';
import type { Logger } from '@acp/kernel';
import type { Hands } from '../hands.ts';
import { Backoff, jittered, pause } from '../service/backoff.ts';
import type { ControlPlane } from '../service/control-plane.ts';
import type { Link } from '../service/link.ts';

export interface PollSettings {
  plane: ControlPlane;
  link: Link;
  hands: Hands;
  logger: Logger;
  poll_ms: number;
  most_wait_ms: number;
  begin: (task: RemoteTask) => void;
}

/** Claims tasks while there are free slots. Ends with the signal, after completing a claim in progress. */
export async function pollForTasks(settings: PollSettings, signal: AbortSignal): Promise<void> {
  const { plane, link, hands, logger, poll_ms, begin } = settings;
  const backoff = new Backoff(settings.most_wait_ms);
  // If a claim were aborted midway, we might own a task without knowing.
  const never = new AbortController().signal;
  while (!signal.aborted) {
    if (hands.free === 0) {
      logger.debug('all places are taken', { tasks: hands.ids });
      await hands.change(signal);
      continue;
    }
    try {
      const task = await plane.claim(never);
      link.works();
      backoff.reset();
      if (task === null) await pause(jittered(poll_ms), signal);
      else begin(task);
    } catch (err) {
      await pause(backoff.next(link.fails(err)), signal);
    }
  }
}
