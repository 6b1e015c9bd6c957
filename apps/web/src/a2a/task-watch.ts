import type { Actor } from '@acp/contract';
import { ServiceError } from '@acp/kernel';
import type { Response } from 'express';
import { HEARTBEAT_FRAME } from '../live/frames.ts';
import type { LiveHub } from '../live/hub.ts';
import type { Subscriber } from '../live/subscriber.ts';

interface Watched {
  actor: Actor;
  company_id: string;
  task_id: string;
  response: Response;
  /** Now and then, so that nobody takes a quiet stream for a dead one. */
  beat?: () => void;
}

/**
 * Says that a task may have changed: a stream of the hub, of which only the coming of events counts. So its access is
 * verified, its number bounded and its end known as for every live stream. Open it before the task is read.
 */
export class TaskWatch {
  readonly #hub: LiveHub;
  #subscriber: Subscriber | undefined;
  #changed = false;
  #ended = false;
  #wake: (() => void) | undefined;

  private constructor(hub: LiveHub) {
    this.#hub = hub;
  }

  /** @throws rateLimited where the actor has too many streams open */
  static async open(
    hub: LiveHub,
    { actor, company_id, task_id, response, beat }: Watched,
  ): Promise<TaskWatch> {
    const watch = new TaskWatch(hub);
    const sink = {
      write: (frame: string) => {
        if (frame === HEARTBEAT_FRAME) beat?.();
        // Transcripts are not the client's, and bring no change.
        else if (frame.startsWith('id:')) watch.#note();
      },
      end: () => watch.#end(),
      pending: () => response.writableLength,
    };
    const topics = [`issue:${task_id}`] as const;
    watch.#subscriber = await hub.subscribe({ actor, only: company_id, topics, sink }, null);
    response.on('close', () => watch.close());
    if (response.destroyed) watch.close();
    return watch;
  }

  /** The same, null where the actor has too many open: what was taken in is not refused for want of a stream. */
  static async openIfFree(hub: LiveHub, watched: Watched): Promise<TaskWatch | null> {
    try {
      return await TaskWatch.open(hub, watched);
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'rate_limited') return null;
      throw error;
    }
  }

  /** Waits for a change since the last time. @returns false where none comes any more */
  async changed(): Promise<boolean> {
    if (!this.#changed && !this.#ended)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.#ended) return false;
    this.#changed = false;
    return true;
  }

  close(): void {
    if (this.#subscriber) this.#hub.unsubscribe(this.#subscriber);
    this.#end();
  }

  #note(): void {
    this.#changed = true;
    this.#wake?.();
  }

  #end(): void {
    this.#ended = true;
    this.#wake?.();
  }
}
