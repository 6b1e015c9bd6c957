import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@acp/kernel';
import { isStillRunning } from './processes.ts';
import type { ProcessState } from './processes.ts';

const LOOK_EVERY_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

/** Calls `restart` whenever the server has died; failed starts are retried at growing intervals. */
export class ServerWatch {
  readonly #stopped = new AbortController();
  readonly #watching: Promise<void>;

  constructor(
    server: () => Pick<ProcessState, 'pid' | 'started'>,
    restart: () => Promise<void>,
    logger: Logger,
  ) {
    this.#watching = this.#watch(server, restart, logger);
  }

  /** Waits for a start in progress. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#watching;
  }

  async #watch(
    server: () => Pick<ProcessState, 'pid' | 'started'>,
    restart: () => Promise<void>,
    logger: Logger,
  ): Promise<void> {
    const { signal } = this.#stopped;
    let pause = LOOK_EVERY_MS;
    for (;;) {
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      if (await isStillRunning(server())) {
        pause = LOOK_EVERY_MS;
        continue;
      }
      logger.error('the embedded PostgreSQL has died: starting it again', { pid: server().pid });
      try {
        await restart();
      } catch (error) {
        logger.error('the embedded PostgreSQL could not be started again', { error });
      }
      // A server that dies on every start must not keep the machine busy.
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }
}
