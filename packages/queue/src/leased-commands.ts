import { sql } from 'drizzle-orm';
import { WILDCARD } from '@acp/db';
import type { Listener } from '@acp/db';
import { messageOf } from './completions.ts';
import { type CommandRunner, runCommand } from './run-command.ts';

/** Item of the `commands` channel: a command waits for the holder of its lease. */
export const LEASED = 'leased';

/** Of one lease: a holder that hangs holds up none of its neighbours. */
const MAX_AT_ONCE = 16;
const BATCH = 64;
/** Word may be lost with a connection; the row is not. */
const LOOK_EVERY_MS = 2000;

/**
 * Takes the commands that are for the holder of a lease only. They bypass the queue, where any scheduler could fetch
 * them: all are told, and the holder looks for its own.
 */
export class LeasedCommands {
  readonly #runner: CommandRunner;
  readonly #held: () => readonly string[];
  readonly #running = new Map<string, Promise<void>>();
  readonly #busy = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #off: (() => void)[];
  readonly #looks: NodeJS.Timeout;
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
    this.#looks = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
  }

  /** After a lease was taken, too: what waits for it was told to a holder that is gone. */
  look(): void {
    this.#again = true;
    if (!this.#looking) void this.#take();
  }

  async stop(): Promise<void> {
    for (const off of this.#off) off();
    clearInterval(this.#looks);
    this.#stop.abort();
    await Promise.all(this.#running.values());
  }

  async #take(): Promise<void> {
    this.#looking = true;
    try {
      while (this.#again && !this.#stop.signal.aborted) {
        this.#again = false;
        const held = this.#held().filter((lease) => this.#roomOf(lease) > 0);
        if (held.length === 0) return;
        const { rows } = await this.#runner.database.db.execute<{ id: string; lease: string }>(sql`
          select id, lease from commands where status = 'queued' and lease = any(${sql.param(held)}::text[])
          order by created_at limit ${BATCH}`);
        for (const { id, lease } of rows)
          if (this.#roomOf(lease) > 0 && !this.#running.has(id)) this.#start(id, lease);
        // Those of a lease that is busy now may stand before others'.
        if (rows.length === BATCH) this.#again = true;
      }
    } catch (err) {
      // Who waits is told at the deadline; the next word looks again.
      this.#runner.logger?.warn('commands of a lease could not be looked for', { error: messageOf(err) });
    } finally {
      this.#looking = false;
    }
  }

  #roomOf(lease: string): number {
    return MAX_AT_ONCE - (this.#busy.get(lease) ?? 0);
  }

  #start(id: string, lease: string): void {
    this.#busy.set(lease, (this.#busy.get(lease) ?? 0) + 1);
    const done = runCommand(this.#runner, id, this.#stop.signal)
      .catch((err: unknown) =>
        this.#runner.logger?.warn('a command could not be run', { command_id: id, error: messageOf(err) }),
      )
      .finally(() => {
        this.#running.delete(id);
        const left = (this.#busy.get(lease) ?? 1) - 1;
        if (left === 0) this.#busy.delete(lease);
        else this.#busy.set(lease, left);
        this.look();
      });
    this.#running.set(id, done);
  }
}
