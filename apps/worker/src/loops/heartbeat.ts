import type { Hands } from '../hands.ts';
import { Backoff, jittered, pause } from '../service/backoff.ts';
import type { ControlPlane } from '../service/control-plane.ts';
import type { Link } from '../service/link.ts';

export interface HeartbeatSettings {
  plane: ControlPlane;
  link: Link;
  hands: Hands;
  every_ms: number;
}

/** Tells the service that the worker is there, and which tasks are in its hands. At once, then at its pace. */
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
