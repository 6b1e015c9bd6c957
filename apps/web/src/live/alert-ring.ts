import type { RecentNotification } from '@acp/contract';
import { recentNotifications } from '@acp/core';
import type { Database, Listener } from '@acp/db';
import type { Logger } from '@acp/kernel';

interface AlertRingOptions {
  database: Database;
  listener: Listener;
  logger: Logger;
}

const KEPT = 200;
/** How far back to read after a signal: long enough for a listener that had to reconnect. */
const LOOK_BACK_SEC = 60;

/**
 * The latest alerts for admins (specification, Events and observability 7), of all companies, in this process's memory: lost
 * on restart. Callers narrow them to the companies that the reader is an admin of.
 */
export class AlertRing {
  readonly #options: AlertRingOptions;
  readonly #off: (() => void)[];
  #alerts: RecentNotification[] = [];
  #reading = false;
  #again = false;

  constructor(options: AlertRingOptions) {
    this.#options = options;
    const { listener } = options;
    this.#off = [listener.on('alerts', () => this.#look()), listener.onReconnect(() => this.#look())];
  }

  /** Newest first. @param sees whether the reader may see the company's alerts; null is the instance */
  list(sees: (company_id: string | null) => boolean): RecentNotification[] {
    return this.#alerts.filter(({ company_id }) => sees(company_id)).toReversed();
  }

  close(): void {
    for (const off of this.#off) off();
  }

  #look(): void {
    this.#again = true;
    if (!this.#reading) void this.#read();
  }

  async #read(): Promise<void> {
    this.#reading = true;
    while (this.#again) {
      this.#again = false;
      try {
        const recent = await recentNotifications(this.#options.database.db, LOOK_BACK_SEC);
        const known = new Set(this.#alerts.map(({ id }) => id));
        this.#alerts = [...this.#alerts, ...recent.filter(({ id }) => !known.has(id))].slice(-KEPT);
      } catch (error) {
        // The events themselves are kept: only this view has a gap.
        this.#options.logger.warn('alerts could not be read', { error });
      }
    }
    this.#reading = false;
  }
}
