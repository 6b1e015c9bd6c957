import { claimMessages, type ClaimedMessage, recordSent } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import { openChannels } from './channels.ts';
import { Undeliverable } from './undeliverable.ts';

interface MessageSenderOptions {
  database: Database;
  logger: Logger;
  vault: Vault;
  config: Config;
}

const AT_ONCE = 8;
/** Timeout of one attempt; its lease lasts somewhat longer. */
const TIMEOUT_SEC = 20;
const LEASE_SEC = TIMEOUT_SEC + 10;

/** Sends the messages queued in the database, by mail and to the operator's channels. Any number of processes may run it. */
export class MessageSender {
  readonly #options: MessageSenderOptions;
  readonly #channels: ReturnType<typeof openChannels>;
  readonly #stopping = new AbortController();
  #working: Promise<void> | null = null;

  constructor(options: MessageSenderOptions) {
    this.#options = options;
    this.#channels = openChannels(options.config);
  }

  /** Call when there are messages to send. */
  kick(): void {
    if (this.#stopping.signal.aborted) return;
    this.#working ??= this.#work().finally(() => (this.#working = null));
  }

  /** Aborts sends in progress, which the next process to claim them repeats. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
    await this.#channels.close();
  }

  async #work(): Promise<void> {
    const { database, logger, vault } = this.#options;
    try {
      let claimed: ClaimedMessage[];
      do {
        claimed = await transaction(database, async (tx) => claimMessages(tx, vault, AT_ONCE, LEASE_SEC));
        await Promise.all(claimed.map(async (message) => this.#send(message)));
      } while (claimed.length === AT_ONCE && !this.#stopping.signal.aborted);
    } catch (error) {
      // The timer will try again.
      logger.warn('messages could not be sent', { error });
    }
  }

  async #send(message: ClaimedMessage): Promise<void> {
    const { database, logger } = this.#options;
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(TIMEOUT_SEC * 1000)]);
    let outcome: { error: string | null; hopeless?: boolean } = { error: null };
    try {
      await this.#channels.send(message, signal);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const { message: text } = error instanceof Error ? error : new Error(String(error));
      outcome = {
        error: signal.aborted ? `no answer in ${TIMEOUT_SEC} s` : text,
        hopeless: error instanceof Undeliverable,
      };
      logger.warn('a message could not be sent', {
        message_id: message.id,
        channel: message.channel,
        error: text,
      });
    }
    await recordSent(database.db, message.id, outcome);
  }
}
