import type { Hands } from '../hands.ts';
import { Backoff, jittered, pause } from '../service/backoff.ts';
import type { ControlPlane } from '../service/control-plane.ts';
import type { Link } from '../service/link.ts';

interface HeartbeatSettings {
  plane: ControlPlane;
  link: Link;
  hands: Hands;
  every_ms: number;
}

/** Reports that the worker is alive and which tasks it has: immediately, then at regular intervals. */
export async function sendHeartbeats(
  { plane, link, hands, every_ms }: HeartbeatSettings,
  signal: AbortSignal,
): Promise<void> {
  const backoff = new Backoff(every_ms);
  while (!signal.aborted) {
    let wait = jittered(every_ms);
    try {
      await plane.heartbeat(hands.ids, signal);
      link.works();
      backoff.reset();
    } catch (err) {
      if (signal.aborted) return;
      wait = backoff.next(link.fails(err));
    }
    await pause(wait, signal);
  }
}
