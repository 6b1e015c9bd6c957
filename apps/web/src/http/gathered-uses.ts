import type { Actor } from '@acp/contract';
import {
  type KeyUse,
  markKeysUsed,
  markSessionsSeen,
  type NewSecurityEvent,
  noteKeyAddresses,
  recordSecurityEvents,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Logger } from '@acp/kernel';
import { OncePerMinute } from './once-per-minute.ts';

// Limits the uses remembered while the database is unavailable.
const MAX_PENDING = 10_000;
// The first few refusals of a flood say as much as all of them.
const MAX_REFUSALS = 500;

/** Times and places at which keys and sessions are used, and refusals: gathered by requests, written in batches. */
export class GatheredUses {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #refusedOnce = new OncePerMinute();
  #keys = new Set<string>();
  #sessions = new Set<string>();
  #places = new Map<string, KeyUse>();
  #refusals: NewSecurityEvent[] = [];

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  session(actor: Actor | undefined): void {
    if (actor?.kind !== 'user' || actor.session_id === null) return;
    if (this.#sessions.size < MAX_PENDING) this.#sessions.add(actor.session_id);
  }

  /** @param address the request's address; recorded only for keys that outlive a run */
  key(actor: Actor | undefined, address: string | undefined): void {
    if (!actor || !('key_id' in actor) || actor.key_id === null) return;
    const { key_id, company_id, name: subject } = actor;
    if (this.#keys.size < MAX_PENDING) this.#keys.add(key_id);
    if (address === undefined || ('run_id' in actor && actor.run_id !== null)) return;
    if (this.#places.size < MAX_PENDING)
      this.#places.set(`${key_id} ${address}`, { key_id, company_id, subject, address });
  }

  refused(event: NewSecurityEvent): void {
    const { kind, subject, user_id, key_id, details } = event;
    const same = JSON.stringify([kind, subject, user_id, key_id, details]);
    if (this.#refusals.length < MAX_REFUSALS && this.#refusedOnce.first(same)) this.#refusals.push(event);
  }

  /** Never throws: what could not be written is kept for the next time, as far as there is room. */
  async flush(): Promise<void> {
    const [keys, sessions, places, refusals] = [this.#keys, this.#sessions, this.#places, this.#refusals];
    this.#keys = new Set();
    this.#sessions = new Set();
    this.#places = new Map();
    this.#refusals = [];
    const { db } = this.#database;
    if (keys.size > 0)
      await this.#write(
        async () => markKeysUsed(db, [...keys]),
        () => this.#again(this.#keys, keys),
      );
    if (sessions.size > 0)
      await this.#write(
        async () => markSessionsSeen(db, [...sessions]),
        () => this.#again(this.#sessions, sessions),
      );
    if (places.size > 0)
      await this.#write(
        async () => transaction(this.#database, async (tx) => noteKeyAddresses(tx, [...places.values()])),
        () => {
          for (const [key, use] of places) if (this.#places.size < MAX_PENDING) this.#places.set(key, use);
        },
      );
    if (refusals.length > 0)
      await this.#write(
        async () => recordSecurityEvents(db, refusals),
        () => void this.#refusals.unshift(...refusals.slice(0, MAX_REFUSALS - this.#refusals.length)),
      );
  }

  #again(pending: Set<string>, ids: ReadonlySet<string>): void {
    for (const id of ids) if (pending.size < MAX_PENDING) pending.add(id);
  }

  async #write(act: () => Promise<void>, again: () => void): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#logger.warn('last-used times of keys and sessions could not be written; trying again', {
        error,
      });
      again();
    }
  }
}
