import {
  type ChannelHold,
  type ChannelRow,
  claimChannels,
  fanOutToChannels,
  keyLedger,
  releaseChannel,
  renewChannels,
} from '@acp/core';
import { type Database, type Listener, transaction, WILDCARD } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import { FileStore, type Storage } from '@acp/storage';
import { ChannelRunner } from './channel-runner.ts';
import { LiveTexts } from './live-texts.ts';

interface ChannelHostParts {
  config: Config;
  database: Database;
  storage: Storage;
  listener: Listener;
  vault: Vault;
  logger: Logger;
  /** Identifies this process as the lease owner. */
  name: string;
}

const LONGEST_LEASE_SEC = 15;
/** Fractions of a lease: when it is renewed, and when connections whose lease could not be renewed are closed. */
const [BEAT, GIVE_UP] = [0.3, 0.75];
/** Maximum number of channels per process. */
const MOST_HELD = 200;
const CLAIMED_AT_ONCE = 20;
/** Events arrive in bursts: they are processed in batches. */
const REST_MS = 100;

/**
 * The channels of one scheduler: claims those without an owner, renews their leases and reports their state, stops those
 * it no longer owns, and turns events into outgoing messages. Any number of schedulers may run one.
 */
export class ChannelHost {
  readonly #parts: ChannelHostParts;
  readonly #files: FileStore;
  readonly #texts: LiveTexts;
  readonly #runners = new Map<string, ChannelRunner>();
  readonly #leaseSec: number;
  readonly #stopping = new AbortController();
  readonly #off: (() => void)[];
  #working: Promise<void> | null = null;
  #again = false;
  #renewedAt = 0;
  #beat: NodeJS.Timeout | undefined;
  #rest: NodeJS.Timeout | undefined;
  /** Without a channel no one reads events. */
  #listening = false;

  constructor(parts: ChannelHostParts) {
    this.#parts = parts;
    const { listener, storage, database, logger } = parts;
    this.#files = new FileStore({ storage, ledger: keyLedger(database.db), logger });
    this.#texts = new LiveTexts(parts);
    this.#leaseSec = Math.min(parts.config.run_lease_sec, LONGEST_LEASE_SEC);
    this.#off = [
      listener.on('events', () => {
        if (!this.#listening) return;
        this.#rest ??= setTimeout(() => {
          this.#rest = undefined;
          this.kick();
        }, REST_MS);
      }),
      listener.on('channels', (ids) => {
        if (ids.includes(WILDCARD)) for (const runner of this.#runners.values()) runner.kick();
        else for (const id of ids) this.#runners.get(id)?.kick();
      }),
      listener.onReconnect(() => {
        this.kick();
        for (const runner of this.#runners.values()) runner.kick();
      }),
    ];
  }

  /** Call when there may be a channel to claim, an event to process, or a message to send. */
  kick(): void {
    this.#again = true;
    if (this.#working !== null || this.#stopping.signal.aborted) return;
    this.#working = this.#work().finally(() => {
      this.#working = null;
    });
  }

  /** Releases all channels, so that another scheduler can claim them immediately. */
  async stop(): Promise<void> {
    for (const off of this.#off) off();
    clearTimeout(this.#rest);
    this.#stopping.abort();
    clearInterval(this.#beat);
    await this.#working;
    await Promise.all([...this.#runners.values()].map(async (runner) => this.#end(runner)));
    await this.#texts.stop();
  }

  async #work(): Promise<void> {
    const { logger } = this.#parts;
    while (this.#again && !this.#stopping.signal.aborted) {
      this.#again = false;
      try {
        await this.#claim();
        await this.#spread();
      } catch (error) {
        // The timer will try again.
        logger.warn('channel maintenance failed', { error });
      }
    }
  }

  async #spread(): Promise<void> {
    const { database, config } = this.#parts;
    for (let more = true; more && !this.#stopping.signal.aborted;) {
      const made = await transaction(database, async (tx) => fanOutToChannels(tx, config.public_url));
      this.#listening = made?.listening ?? this.#runners.size > 0;
      more = made?.more ?? false;
    }
  }

  async #claim(): Promise<void> {
    const { database, name } = this.#parts;
    const room = Math.min(MOST_HELD - this.#runners.size, CLAIMED_AT_ONCE);
    if (room <= 0) return;
    const asked = performance.now();
    const claimed = await transaction(database, async (tx) => claimChannels(tx, name, this.#leaseSec, room));
    for (const channel of claimed) {
      if (this.#runners.size === 0) this.#renewedAt = asked;
      this.#run(channel, { channel_id: channel.id, held_by: name, fence: channel.fence });
    }
    if (claimed.length === room) this.#again = true;
  }

  #run(channel: ChannelRow, hold: ChannelHold): void {
    const { config, ...parts } = this.#parts;
    this.#runners.set(
      channel.id,
      new ChannelRunner(channel, hold, {
        ...parts,
        config,
        files: this.#files,
        texts: this.#texts,
      }),
    );
    this.#beat ??= setInterval(() => void this.#look(), BEAT * this.#leaseSec * 1000).unref();
  }

  /** Renews the leases, and stops channels that were lost, switched off, changed, or not renewed for too long. */
  async #look(): Promise<void> {
    const { database, logger } = this.#parts;
    const runners = [...this.#runners.values()];
    if (runners.length === 0) return;
    const asked = performance.now();
    try {
      const holds = runners.map(({ hold, state }) => ({ ...hold, ...state }));
      const kept = await renewChannels(database.db, holds, this.#leaseSec);
      this.#renewedAt = asked;
      const over = runners.filter((runner) => {
        const row = kept.get(runner.hold.channel_id);
        return row === undefined || !runner.fits(row);
      });
      await Promise.all(over.map(async (runner) => this.#end(runner)));
      if (over.length > 0) this.kick();
    } catch (error) {
      logger.warn('channel leases could not be renewed', { error });
      if ((performance.now() - this.#renewedAt) / 1000 < GIVE_UP * this.#leaseSec) return;
      await Promise.all(runners.map(async (runner) => this.#end(runner)));
    }
  }

  /** Stops the channel completely before releasing its lease. */
  async #end(runner: ChannelRunner): Promise<void> {
    const { channel_id } = runner.hold;
    if (this.#runners.get(channel_id) !== runner) return;
    await runner.stop();
    // Meanwhile its lease may have ended, and another been acquired.
    if (this.#runners.get(channel_id) === runner) this.#runners.delete(channel_id);
    await releaseChannel(this.#parts.database.db, runner.hold).catch((error: unknown) =>
      // The lease expires by itself.
      this.#parts.logger.info('a channel could not be given back', { channel_id, error }),
    );
  }
}
