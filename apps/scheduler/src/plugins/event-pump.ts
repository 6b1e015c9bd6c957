import { eventTable, type HostMessage, matchesPattern } from '@acp/contract';
import { advanceCursor, pluginCursor, readCompanyCursor, type SequencedEvent } from '@acp/core';
import type { Database } from '@acp/db';
import type { Logger } from '@acp/kernel';

type Payload = Extract<HostMessage, { type: 'trigger_event' }>['payload'];

interface EventPumpSettings {
  plugin_id: string;
  company_id: string;
  patterns: readonly string[];
  database: Database;
  logger: Logger;
  /** Resolves when the plugin has handled the event. */
  deliver: (payload: Payload) => Promise<void>;
  /** Called with an event that the plugin failed to handle. */
  onSkipped: (event_type: string, error: unknown) => void;
  /** Called when it handles one again. */
  onRecovered: () => void;
  signal: AbortSignal;
}

const BATCH = 100;
/**
 * Maximum number of attempts to deliver an event; then it is skipped, since the others wait behind it. They have one attempt each, until
 * one is handled: a plugin that answers no events would otherwise take three times as long for all of them.
 */
const ATTEMPTS = 3;
const RETRY_MS = 10_000;

/**
 * Delivers the matching events of its company to a plugin, in order, at least once: the cursor is moved past those that it
 * has handled, and the plugin's next owner continues from there.
 */
export class EventPump {
  readonly #set: EventPumpSettings;
  #pumping = false;
  #wanted = false;
  #hasSkipped = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(settings: EventPumpSettings) {
    this.#set = settings;
  }

  kick(): void {
    this.#wanted = true;
    if (!this.#pumping && this.#set.patterns.length > 0) void this.#pump();
  }

  async #pump(): Promise<void> {
    const { signal, logger, plugin_id } = this.#set;
    this.#pumping = true;
    clearTimeout(this.#retry);
    try {
      while (this.#wanted && !signal.aborted) {
        this.#wanted = false;
        if (await this.#batch()) this.#wanted = true;
      }
    } catch (error) {
      if (!signal.aborted) {
        logger.warn('events could not be delivered to a plugin', { plugin_id, error });
        this.#retry = setTimeout(() => this.kick(), RETRY_MS).unref();
      }
    } finally {
      this.#pumping = false;
    }
  }

  /** @returns whether there may be more */
  async #batch(): Promise<boolean> {
    const { database, plugin_id, company_id } = this.#set;
    const cursor = pluginCursor(plugin_id);
    const batch = await readCompanyCursor(database.db, cursor, company_id, BATCH);
    if (batch === undefined || batch.up_to === batch.after) return false;
    let done = batch.after;
    try {
      if (batch.missed > 0) await this.#deliver(reset(batch.missed));
      for (const event of batch.events) {
        if (this.#set.signal.aborted) return false;
        const payload = this.#wants(event);
        if (payload !== undefined) await this.#deliver(payload);
        done = event.seq;
      }
      done = batch.up_to;
    } finally {
      // Also after an interruption, so that handled events are not sent again.
      if (done > batch.after) await advanceCursor(database.db, cursor, { after: batch.after, up_to: done });
    }
    return batch.events.length === BATCH;
  }

  async #deliver(payload: Payload): Promise<void> {
    const { signal, deliver, onSkipped, onRecovered } = this.#set;
    const most = this.#hasSkipped ? 1 : ATTEMPTS;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await deliver(payload);
        if (this.#hasSkipped) onRecovered();
        this.#hasSkipped = false;
        return;
      } catch (error) {
        // The process has ended: its successor gets the event.
        if (signal.aborted) throw error;
        if (attempt < most) continue;
        this.#hasSkipped = true;
        return onSkipped(payload.event_type, error);
      }
    }
  }

  #wants({ type, id, occurred_at, data }: SequencedEvent): Payload | undefined {
    const event_type = Object.hasOwn(eventTable, type)
      ? eventTable[type as keyof typeof eventTable].plugin_type
      : null;
    if (event_type === null || !this.#set.patterns.some((pattern) => matchesPattern(pattern, event_type)))
      return undefined;
    return { event_type, data: data as Record<string, unknown>, event_id: id, occurred_at };
  }
}

const reset = (missed: number): Payload => ({
  event_type: 'reset',
  data: { missed },
  event_id: null,
  occurred_at: null,
});
