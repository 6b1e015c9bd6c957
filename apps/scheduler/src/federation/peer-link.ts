import { claimDelegations, claimDuePeers } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { type Config, createGuardedFetch, type Logger, type Vault } from '@acp/kernel';
import { CompanyPlaces } from '../company-places.ts';
import { listedFetch } from '../egress/listed-fetch.ts';
import { followDelegation } from './follow-delegation.ts';
import { type PeerParts, refreshPeer } from './refresh-peer.ts';

interface PeerLinkOptions {
  database: Database;
  vault: Vault;
  logger: Logger;
  config: Pick<Config, 'provider_egress' | 'public_url'>;
}

/** Cards and delegations that one process handles concurrently; a slow peer may use all ten minutes of a call. */
const AT_ONCE = 64;
const OF_ONE_COMPANY = 8;
/** Number claimed at a time, before checking again which companies have places left. */
const BATCH = 4;

/** Does the due work with peers in this process. Any number of processes may run it: each claims what no other has. */
export class PeerLink {
  readonly #parts: PeerParts;
  readonly #logger: Logger;
  readonly #stopping = new AbortController();
  readonly #places = new CompanyPlaces({ all: AT_ONCE, ofOne: OF_ONE_COMPANY });
  #taking: Promise<void> | null = null;

  constructor({ database, vault, logger, config }: PeerLinkOptions) {
    // Requests to peers may reach the same addresses as those to providers (decisions 7.30).
    const send = createGuardedFetch({ egress: config.provider_egress });
    const fetchFor = (company_id: string) => listedFetch(database, { company_id, door: 'peer' }, send);
    this.#parts = { database, vault, fetchFor, public_url: config.public_url };
    this.#logger = logger;
  }

  /** Starts due work in the background, as far as there is capacity. */
  kick(): void {
    if (this.#taking !== null || this.#stopping.signal.aborted) return;
    this.#taking = this.#take().finally(() => {
      this.#taking = null;
    });
  }

  /** Fetches the card of one peer now. */
  async refresh(peer_id: string, signal: AbortSignal): Promise<void> {
    await refreshPeer(this.#parts, peer_id, AbortSignal.any([signal, this.#stopping.signal]));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#taking;
    await this.#places.settled();
  }

  async #take(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      while (!signal.aborted && (await this.#takeSome(signal)));
    } catch (error) {
      // The timer will try again.
      this.#logger.warn('peer maintenance failed', { error });
    }
  }

  /** @returns whether there may be more */
  async #takeSome(signal: AbortSignal): Promise<boolean> {
    const { database } = this.#parts;
    const places = this.#places;
    const room = Math.min(BATCH, places.free);
    if (room === 0) return false;
    const due = await transaction(database, async (tx) => claimDuePeers(tx, room, places.full()));
    for (const { id, company_id } of due)
      places.begin(company_id, async () => this.#tried(id, async () => refreshPeer(this.#parts, id, signal)));
    const left = Math.min(BATCH, places.free);
    if (left === 0) return false;
    const delegations = await transaction(database, async (tx) => claimDelegations(tx, left, places.full()));
    for (const each of delegations)
      places.begin(each.company_id, async () =>
        this.#tried(each.peer_id, async () => followDelegation(this.#parts, each, signal)),
      );
    return due.length + delegations.length > 0;
  }

  async #tried(peer_id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        this.#logger.warn('maintenance of a peer failed', { peer_id, error });
    }
  }
}
