import {
  type Attempt,
  claimWebhooks,
  type ClaimedWebhook,
  failPending,
  fanOut,
  mayBeNotified,
  nextDelivery,
  type PendingDelivery,
  pushBodies,
  recordAttempt,
  releaseWebhook,
  type TaskBodies,
  webhookSecret,
} from '@acp/core';
import { type Database, type Listener, transaction } from '@acp/db';
import {
  type Config,
  createGuardedFetch,
  type GuardedFetch,
  type Logger,
  type Vault,
  stated,
} from '@acp/kernel';
import { CompanyPlaces } from '../company-places.ts';
import { listedFetch } from '../egress/listed-fetch.ts';
import { sendWebhook } from './send-webhook.ts';
import { taskHeaders } from './task-headers.ts';

interface WebhookSenderOptions {
  database: Database;
  listener: Listener;
  logger: Logger;
  vault: Vault;
  config: Pick<
    Config,
    'webhook_allowed_hosts' | 'webhook_timeout_sec' | 'a2a_push_allowed_hosts' | 'public_url'
  >;
}

/** Webhooks that one process serves concurrently; a slow receiver may take minutes for its queue. */
const AT_ONCE = 48;
const OF_ONE_COMPANY = 8;
/** Number claimed at a time, before checking again which companies have places left. */
const BATCH = 4;
/** Deliveries to one webhook in a row before others have their turn. */
const IN_A_ROW = 50;
/** Added to the timeout of an attempt, for its statements. */
const LEASE_MARGIN_SEC = 5;
/** Events arrive in bursts: they are processed in batches. */
const REST_MS = 100;

/**
 * Creates deliveries from events and sends them: woken by new events while webhooks listen, and by the timer when something
 * is due. Any number of processes may run it: one at a time moves the cursor, and one serves each webhook.
 */
export class WebhookSender {
  readonly #options: WebhookSenderOptions;
  readonly #fetch: GuardedFetch;
  /** Sends to clients of tasks. */
  readonly #push: GuardedFetch;
  readonly #taskBodies: TaskBodies;
  readonly #places = new CompanyPlaces({ all: AT_ONCE, ofOne: OF_ONE_COMPANY });
  readonly #stopping = new AbortController();
  readonly #off: () => void;
  /** Without webhooks no one reads events. */
  #listening = false;
  #wanted = false;
  #rest: NodeJS.Timeout | undefined;
  #working: Promise<void> | null = null;

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
    const { webhook_allowed_hosts, a2a_push_allowed_hosts, public_url } = options.config;
    this.#fetch = createGuardedFetch({
      egress: 'public',
      allow_hosts: webhook_allowed_hosts,
      allowed_in: 'SERVICE_WEBHOOK_ALLOWED_HOSTS',
    });
    this.#push = createGuardedFetch({
      egress: 'public',
      allow_hosts: a2a_push_allowed_hosts,
      allowed_in: 'SERVICE_A2A_PUSH_ALLOWED_HOSTS',
    });
    this.#taskBodies = pushBodies(public_url);
    this.#off = options.listener.on('events', () => {
      if (this.#listening) this.kick();
    });
  }

  /** Call when there are events to process or attempts to make. */
  kick(): void {
    this.#wanted = true;
    if (this.#rest === undefined && this.#working === null) this.#begin();
  }

  /** Aborts attempts in progress, which the next process to claim them repeats. */
  async stop(): Promise<void> {
    this.#off();
    clearTimeout(this.#rest);
    this.#stopping.abort();
    await this.#working;
    await this.#places.settled();
  }

  #begin(): void {
    if (this.#stopping.signal.aborted) return;
    this.#working = this.#work().finally(() => {
      this.#working = null;
      this.#rest = setTimeout(() => {
        this.#rest = undefined;
        if (this.#wanted) this.#begin();
      }, REST_MS);
    });
  }

  async #work(): Promise<void> {
    const { database, logger } = this.#options;
    this.#wanted = false;
    try {
      for (let more = true; more && !this.#stopping.signal.aborted;) {
        const made = await transaction(database, async (tx) => fanOut(tx, this.#taskBodies));
        // If another process is at work, that one does the listening.
        this.#listening = made?.listening ?? false;
        more = made?.more ?? false;
      }
      while (!this.#stopping.signal.aborted && (await this.#serveSome()));
    } catch (error) {
      // The timer will try again.
      logger.warn('webhook maintenance failed', { error });
    }
  }

  get #leaseSec(): number {
    return this.#options.config.webhook_timeout_sec + LEASE_MARGIN_SEC;
  }

  /** @returns whether there may be more */
  async #serveSome(): Promise<boolean> {
    const places = this.#places;
    const room = Math.min(BATCH, places.free);
    if (room === 0) return false;
    const { db } = this.#options.database;
    const claimed = await claimWebhooks(db, room, this.#leaseSec, places.full());
    for (const webhook of claimed) places.begin(webhook.company_id, async () => this.#serve(webhook));
    return claimed.length === room;
  }

  async #serve(webhook: ClaimedWebhook): Promise<void> {
    try {
      await this.#deliver(webhook);
      this.kick();
    } catch (error) {
      // The lease expires, and after a pause a process tries again.
      this.#options.logger.warn('a webhook delivery failed', { webhook_id: webhook.id, error });
    }
  }

  async #deliver(webhook: ClaimedWebhook): Promise<void> {
    const { database } = this.#options;
    const { signal } = this.#stopping;
    for (let count = 0; count < IN_A_ROW && !signal.aborted; count += 1) {
      const delivery = await nextDelivery(database.db, webhook, this.#leaseSec);
      if (delivery === undefined) return;
      if (delivery === null) break;
      if (webhook.issue_id !== null && !(await mayBeNotified(database.db, webhook))) {
        await failPending(database.db, [webhook.id], 'the client may no longer see the task');
        break;
      }
      const attempt = await this.#attempt(webhook, delivery);
      if (attempt === null) break;
      const held = await transaction(database, async (tx) =>
        recordAttempt(tx, webhook, delivery.id, attempt),
      );
      if (!held) return;
    }
    await transaction(database, async (tx) => releaseWebhook(tx, webhook));
  }

  /** Null if it was aborted because the process stops. */
  async #attempt(webhook: ClaimedWebhook, delivery: PendingDelivery): Promise<Attempt | null> {
    const { database, vault, config, logger } = this.#options;
    let secret: string;
    try {
      secret = webhookSecret(vault, webhook);
    } catch (error) {
      logger.warn('the secret of a webhook could not be decrypted', { webhook_id: webhook.id, error });
      return { response_status: null, error: stated('its secret could not be opened') };
    }
    const isPush = webhook.issue_id !== null;
    const to = isPush ? taskHeaders(secret, webhook.dialect) : { secret, headers: {} };
    const envelope = { ...delivery, ...to, url: webhook.url };
    try {
      return await sendWebhook(
        listedFetch(
          database,
          { company_id: webhook.company_id, door: 'webhook' },
          isPush ? this.#push : this.#fetch,
        ),
        envelope,
        config.webhook_timeout_sec,
        this.#stopping.signal,
      );
    } catch (error) {
      if (this.#stopping.signal.aborted) return null;
      throw error;
    }
  }
}
