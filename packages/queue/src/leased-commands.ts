import { sql } from 'drizzle-orm';
import { WILDCARD } from '@acp/db';
import type { Listener } from '@acp/db';
import { messageOf } from './completions.ts';
import { type CommandRunner, runCommand } from './run-command.ts';

/** Item of the `commands` channel: a command waits for the holder of its lease. */
export const LEASED = 'leased';

const MAX_AT_ONCE = 16;

/**
 * Takes the commands that are for the holder of a lease only. They bypass the queue, where any scheduler could fetch
 * them: all are told, and the holder looks for its own.
 */
export class LeasedCommands {
  readonly #runner: CommandRunner;
  readonly #held: () => readonly string[];
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #off: (() => void)[];
  #looking = false;
  #again = false;

  /** @param held the leases of this process now */
  constructor(runner: CommandRunner, listener: Listener, held: () => readonly string[]) {
    this.#runner = runner;
    this.#held = held;
    this.#off = [
      listener.on('commands', (items) => {
        if (items.includes(LEASED) || items.includes(WILDCARD)) this.look();
      }),
      listener.onReconnect(() => this.look()),
    ];
  }

  /** After a lease was taken, too: what waits for it was told to a holder that is gone. */
  look(): void {
    this.#again = true;
    if (!this.#looking) void this.#take();
  }

  async stop(): Promise<void> {
    for (const off of this.#off) off();
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  async #take(): Promise<void> {
    this.#looking = true;
    try {
      while (this.#again && !this.#stop.signal.aborted) {
        this.#again = false;
        const held = this.#held();
        const room = MAX_AT_ONCE - this.#running.size;
        if (held.length === 0 || room <= 0) return;
        const { rows } = await this.#runner.database.db.execute<{ id: string }>(sql`
          select id from commands where status = 'queued' and lease = any(${sql.param(held)}::text[])
          order by created_at limit ${room}`);
        for (const { id } of rows) this.#start(id);
      }
    } catch (err) {
      // Who waits is told at the deadline; the next word looks again.
      this.#runner.logger?.warn('commands of a lease could not be looked for', { error: messageOf(err) });
    } finally {
      this.#looking = false;
    }
  }

  #start(id: string): void {
    const done: Promise<void> = runCommand(this.#runner, id, this.#stop.signal)
      .catch((err: unknown) =>
        this.#runner.logger?.warn('a command could not be run', { command_id: id, error: messageOf(err) }),
      )
      .finally(() => {
        this.#running.delete(done);
        this.look();
      });
    this.#running.add(done);
  }
}
