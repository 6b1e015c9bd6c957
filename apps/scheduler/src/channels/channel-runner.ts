import { setTimeout as pause } from 'node:timers/promises';
import {
  type ChannelHold,
  type ChannelRow,
  type ChannelState,
  readEgress,
  resolveSecrets,
  storeIncoming,
} from '@acp/core';
import { transaction } from '@acp/db';
import { HostList, Scrubber, ServiceError } from '@acp/kernel';
import { ChannelFailure, type ChannelLink } from './channel-link.ts';
import type { ChannelParts } from './channel-parts.ts';
import { GrowthWorker } from './growth-worker.ts';
import { IncomingWorker } from './incoming-worker.ts';
import { OutgoingWorker } from './outgoing-worker.ts';
import { Pace } from './pace.ts';
import { Slack } from './slack.ts';
import { Telegram } from './telegram.ts';

/** Pauses between attempts to connect: doubled each time, up to the longest. */
const [FIRST_MS, LONGEST_MS] = [1000, 60_000];
/** Rejected tokens are retried now and then: the secret may have a new value. */
const REFUSED_MS = 120_000;

/** One channel owned by this scheduler: its connection, its incoming and its outgoing messages. */
export class ChannelRunner {
  readonly hold: ChannelHold;
  readonly #channel: ChannelRow;
  readonly #parts: ChannelParts;
  readonly #over = new AbortController();
  readonly #incoming: IncomingWorker;
  readonly #outgoing: OutgoingWorker;
  readonly #growth: GrowthWorker;
  readonly #done: Promise<void>;
  #state: Omit<ChannelState, 'revision'>;
  #updateOffset: number;
  /** Version of the company's host list; null: not connected yet. */
  #egressVersion: number | null = null;

  constructor(channel: ChannelRow, hold: ChannelHold, parts: ChannelParts) {
    this.hold = hold;
    this.#channel = channel;
    this.#parts = parts;
    this.#updateOffset = channel.update_offset;
    this.#state = {
      status: 'connecting',
      last_error: null,
      last_seen_at: null,
      bot_id: channel.bot_id,
      bot_name: channel.bot_name,
    };
    const { signal } = this.#over;
    const shared = { ...parts, hold, channel, signal, pace: new Pace() };
    this.#growth = new GrowthWorker(shared);
    this.#outgoing = new OutgoingWorker({ ...shared, settle: async (id) => this.#growth.settle(id) });
    this.#incoming = new IncomingWorker({ ...shared, onHandled: () => this.kick() });
    this.#done = this.#run();
  }

  /** The state to store in the channel's row. */
  get state(): ChannelState {
    return { ...this.#state, revision: this.#channel.revision };
  }

  /** Whether the settings that it connected with still apply. */
  fits({ revision, egress_version }: { revision: number; egress_version: number }): boolean {
    const sameList = this.#egressVersion === null || this.#egressVersion === egress_version;
    return revision === this.#channel.revision && sameList;
  }

  /** Call when there may be messages to send, or a reply has begun. */
  kick(): void {
    this.#outgoing.kick();
    this.#growth.kick();
  }

  /** Aborts everything in progress; nothing is written afterwards. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#done;
    await Promise.all([this.#incoming.stop(), this.#outgoing.stop(), this.#growth.stop()]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    let wait = FIRST_MS;
    while (!signal.aborted) {
      const begin = performance.now();
      const failure = await this.#connectOnce();
      if (signal.aborted) return;
      // A connection that lasted for a while starts with short pauses again.
      if (performance.now() - begin > LONGEST_MS) wait = FIRST_MS;
      this.#parts.logger.warn('a channel is not connected', {
        channel_id: this.hold.channel_id,
        error: failure.message,
      });
      const ms = failure.refused ? REFUSED_MS : Math.max(wait, (failure.pause_sec ?? 0) * 1000);
      wait = Math.min(wait * 2, LONGEST_MS);
      // Jitter, so that channels do not all reconnect at the same time after an outage of the vendor.
      await pause(ms * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
    }
  }

  async #connectOnce(): Promise<ChannelFailure> {
    const { signal } = this.#over;
    const { channel_id } = this.hold;
    let scrubber = new Scrubber();
    try {
      const { link, secrets } = await this.#open();
      scrubber = new Scrubber(secrets);
      this.#incoming.use(link);
      this.#outgoing.use(link);
      this.#growth.use(link);
      await link.receive(
        {
          store: async (came, offset) => {
            const { database } = this.#parts;
            const stored = await transaction(database, async (tx) =>
              storeIncoming(tx, this.hold, came, offset),
            );
            if (stored && offset !== null) this.#updateOffset = offset;
            if (stored && came.length > 0) this.#incoming.kick();
            return stored;
          },
          seen: () => {
            this.#state = { ...this.#state, last_seen_at: new Date() };
          },
          connected: ({ id, name }) => {
            if ((this.#state.bot_id ?? id) !== id) this.#updateOffset = 0;
            const seen = { last_seen_at: new Date(), bot_id: id, bot_name: name };
            this.#state = { ...seen, status: 'connected', last_error: null };
            this.#parts.logger.info('a channel is connected', { channel_id });
            this.#incoming.kick();
            this.kick();
          },
        },
        { bot_id: this.#state.bot_id, update_offset: this.#updateOffset },
        signal,
      );
      return new ChannelFailure('the connection has ended');
    } catch (error) {
      const failure = await asFailure(error, scrubber);
      if (!signal.aborted)
        this.#state = {
          ...this.#state,
          ...(failure.answered && { last_seen_at: new Date() }),
          status: failure.refused ? 'refused' : 'failing',
          last_error: failure.message,
        };
      return failure;
    }
  }

  async #open(): Promise<{ link: ChannelLink; secrets: string[] }> {
    const { database, vault, config } = this.#parts;
    const { company_id, bot_token, app_token, kind } = this.#channel;
    const { value, secrets } = await resolveSecrets(database.db, company_id, { bot_token, app_token }, vault);
    const { hosts, version } = await readEgress(database.db, company_id);
    this.#egressVersion = version;
    const list = hosts === null ? null : HostList.of(hosts);
    const tokens = { bot_token: value.bot_token, app_token: value.app_token ?? '' };
    const link =
      kind === 'slack' ? new Slack(config, tokens, list) : new Telegram(config, tokens.bot_token, list);
    return { link, secrets };
  }
}

/** Describes the failure for the channel's page. A missing or unreadable secret must be fixed by people. */
async function asFailure(error: unknown, scrubber: Scrubber): Promise<ChannelFailure> {
  if (error instanceof ChannelFailure)
    // A failure that the vendor would repeat is due to the tokens or their setup at the vendor.
    return error.hopeless ? new ChannelFailure(error.message, { refused: true }) : error;
  if (error instanceof ServiceError)
    return new ChannelFailure(scrubber.scrub(error.message), { refused: true });
  return new ChannelFailure('it failed: the log of the service says why');
}
