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
  /** Called periodically to keep a quiet stream from looking dead. */
  beat?: () => void;
}

/**
 * Signals that a task may have changed. Subscribes to the hub and uses only the arrival of events, so that access checks,
 * limits and shutdown work as for every live stream. Open it before reading the task.
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

  /** @throws rateLimited if the actor has too many open streams */
  static async open(
    hub: LiveHub,
    { actor, company_id, task_id, response, beat }: Watched,
  ): Promise<TaskWatch> {
    const watch = new TaskWatch(hub);
    const sink = {
      write: (frame: string) => {
        if (frame === HEARTBEAT_FRAME) beat?.();
        // Transcripts are not for the client and change nothing.
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

  /** Like `open`, but null if the actor has too many open streams: an accepted message must not fail for lack of one. */
  static async openIfFree(hub: LiveHub, watched: Watched): Promise<TaskWatch | null> {
    try {
      return await TaskWatch.open(hub, watched);
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'rate_limited') return null;
      throw error;
    }
  }

  /** Waits for a change since the previous call. @returns false if there will be no more */
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
