import { sql } from 'drizzle-orm';
import { WILDCARD } from '@acp/db';
import type { Listener } from '@acp/db';
import { messageOf } from './completions.ts';
import { claim, type CommandRunner, type Claimed, LEASED, performCommand } from './run-command.ts';

/** Per lease: an owner that hangs does not block its neighbours. */
const MAX_AT_ONCE = 16;
const BATCH = 64;
/** A notification may be lost with a connection; the row is not. */
const LOOK_EVERY_MS = 2000;

/**
 * Takes commands addressed to the owner of a lease. They bypass the queue, from which any scheduler could fetch them: all
 * schedulers are notified, and the owner picks up its own.
 */
export class LeasedCommands {
  readonly #runner: CommandRunner;
  readonly #held: () => readonly string[];
  readonly #running = new Map<string, Promise<void>>();
  readonly #busy = new Map<string, number>();
  /** Leases that were at their limit at the last look: more commands may be waiting for them. */
  readonly #more = new Set<string>();
  readonly #stop = new AbortController();
  readonly #off: (() => void)[];
  readonly #looks: NodeJS.Timeout;
  #looking = false;
  #again = false;

  /** @param held the leases this process currently owns */
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

  /** Also called after taking a lease: the notifications for waiting commands went to the previous owner. */
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
        const offered = this.#offered();
        if (offered.size === 0) return;
        const commands = await this.#claim(offered);
        for (const command of commands) this.#start(command);
        for (const [lease, room] of offered)
          if (commands.filter((each) => each.lease === lease).length >= room) this.#more.add(lease);
          else this.#more.delete(lease);
        // Commands of a busy lease may be ahead of others'.
        if (commands.length === BATCH) this.#again = true;
      }
    } catch (err) {
      // Callers get a timeout at the deadline; the next notification looks again.
      this.#runner.logger?.warn('commands of a lease could not be fetched', { error: messageOf(err) });
    } finally {
      this.#looking = false;
    }
  }

  /** How many commands each lease can take now. */
  #offered(): Map<string, number> {
    const held = this.#held();
    for (const lease of this.#more) if (!held.includes(lease)) this.#more.delete(lease);
    return new Map(held.map((lease) => [lease, this.#roomOf(lease)] as const).filter(([, room]) => room > 0));
  }

  /** Needs no locks: no one else claims for these leases, and if one is being moved the update decides. */
  async #claim(offered: ReadonlyMap<string, number>): Promise<Claimed[]> {
    return claim(
      this.#runner.database.db,
      sql`
        select c.id from unnest(${sql.param([...offered.keys()])}::text[], ${sql.param([...offered.values()])}::int[]) as held(lease, room)
        cross join lateral (
          select q.id from commands q where q.status = 'queued' and q.lease = held.lease
          order by q.created_at limit held.room
        ) c limit ${BATCH}`,
    );
  }

  #roomOf(lease: string): number {
    return MAX_AT_ONCE - (this.#busy.get(lease) ?? 0);
  }

  #start(command: Claimed): void {
    const { id } = command;
    const lease = command.lease ?? '';
    this.#busy.set(lease, (this.#busy.get(lease) ?? 0) + 1);
    const done = performCommand(this.#runner, command, this.#stop.signal)
      .catch((err: unknown) =>
        this.#runner.logger?.warn('a command could not be run', { command_id: id, error: messageOf(err) }),
      )
      .finally(() => {
        this.#running.delete(id);
        const left = (this.#busy.get(lease) ?? 1) - 1;
        if (left > 0) this.#busy.set(lease, left);
        else this.#busy.delete(lease);
        if (this.#more.has(lease)) this.look();
      });
    this.#running.set(id, done);
  }
}
