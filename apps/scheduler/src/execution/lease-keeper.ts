import { renewLeases } from '@acp/core';
import { WILDCARD } from '@acp/db';
import type { Database, Listener } from '@acp/db';
import type { Logger } from '@acp/kernel';
import type { HeldRun } from './held-run.ts';

interface LeaseKeeperSettings {
  database: Database;
  listener: Listener;
  logger: Logger;
  claimed_by: string;
  lease_sec: number;
}

/** Renews the leases of all runs of the process in one statement, three times per lease duration. */
export class LeaseKeeper {
  readonly #set: LeaseKeeperSettings;
  readonly #held = new Map<string, HeldRun>();
  readonly #unsubscribe: (() => void)[];
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | null = null;

  constructor(settings: LeaseKeeperSettings) {
    this.#set = settings;
    // Cancel requests and withdrawn permissions are noticed immediately; what each renewal reads is the fallback.
    this.#unsubscribe = [
      settings.listener.on('control', (ids) => {
        for (const id of ids) this.#held.get(id)?.stop('cancelled');
        if (ids.includes(WILDCARD)) void this.renew();
      }),
      settings.listener.on('credentials', (ids) => {
        const named = (run: HeldRun) => run.agent_id !== undefined && ids.includes(run.agent_id);
        if ([...this.#held.values()].some(named)) void this.#renewAnew();
      }),
      settings.listener.onReconnect(() => void this.renew()),
    ];
  }

  add(run: HeldRun): void {
    this.#held.set(run.run_id, run);
    this.#timer ??= setInterval(() => this.#beat(), (this.#set.lease_sec * 1000) / 3).unref();
  }

  drop(run: HeldRun): void {
    this.#held.delete(run.run_id);
    if (this.#held.size === 0) this.#stopTimer();
  }

  /** One renewal at a time: a second one would only wait for the same rows. Never rejects. */
  async renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null;
    });
    await this.#renewing;
  }

  /** A renewal under way may have read what was true before. */
  async #renewAnew(): Promise<void> {
    await this.#renewing;
    await this.renew();
  }

  /** Releases all runs: their leases expire in the database, so that any scheduler's sweep takes them over. */
  async release(): Promise<void> {
    const left = [...this.#held.values()];
    if (left.length === 0) return;
    for (const run of left) run.stop('stopping');
    await this.#renewing;
    await renewLeases(this.#set.database.db, this.#set.claimed_by, left, 0);
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#stopTimer();
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  // A renewal may hang as long as the database does; leases that expire in the meantime do not wait for it.
  #beat(): void {
    for (const run of this.#held.values()) if (run.lapsed()) run.stop('lost');
    void this.renew();
  }

  async #renew(): Promise<void> {
    const { database, claimed_by, lease_sec, logger } = this.#set;
    const asked = [...this.#held.values()].filter(({ ours }) => ours);
    if (asked.length === 0) return;
    const sentAt = performance.now();
    try {
      const { held, lost } = await renewLeases(database.db, claimed_by, asked, lease_sec);
      for (const { run_id, cancel_requested, permissions } of held) {
        this.#held.get(run_id)?.renewed(sentAt, permissions);
        if (cancel_requested) this.#held.get(run_id)?.stop('cancelled');
      }
      for (const id of lost) this.#held.get(id)?.stop('lost');
    } catch (err) {
      // If the database stays unreachable past the lease, the runs abort themselves: others may take them over by then.
      logger.warn('leases could not be renewed', { runs: asked.length, error: err });
    }
  }
}
