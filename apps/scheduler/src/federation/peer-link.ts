import { claimDelegations, claimDuePeers } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { type Config, createGuardedFetch, type Logger, type Vault } from '@acp/kernel';
import { heldFetch } from '../egress/held-fetch.ts';
import { followDelegation } from './follow-delegation.ts';
import { type PeerParts, refreshPeer } from './refresh-peer.ts';

interface PeerLinkOptions {
  database: Database;
  vault: Vault;
  logger: Logger;
  config: Pick<Config, 'provider_egress' | 'public_url'>;
}

/** Cards and delegations that one process looks after at once. */
const AT_ONCE = 8;

/** What this process does with peers because it is due. Any number of processes may: each takes what no other has. */
export class PeerLink {
  readonly #parts: PeerParts;
  readonly #logger: Logger;
  readonly #stopping = new AbortController();
  #working: Promise<void> | null = null;

  constructor({ database, vault, logger, config }: PeerLinkOptions) {
    // Requests to peers may go where those to providers may (decisions 7.30).
    const send = createGuardedFetch({ egress: config.provider_egress });
    const fetchFor = (company_id: string) => heldFetch(database, { company_id, door: 'peer' }, send);
    this.#parts = { database, vault, fetchFor, public_url: config.public_url };
    this.#logger = logger;
  }

  /** Something is due. It is done beside what the caller does, and asked for again as long as it is. */
  kick(): void {
    if (this.#working !== null || this.#stopping.signal.aborted) return;
    this.#working = this.#work().finally(() => {
      this.#working = null;
    });
  }

  /** Fetches the card of one peer now. */
  async refresh(peer_id: string, signal: AbortSignal): Promise<void> {
    await refreshPeer(this.#parts, peer_id, AbortSignal.any([signal, this.#stopping.signal]));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { database } = this.#parts;
    const { signal } = this.#stopping;
    try {
      const due = await transaction(database, async (tx) => claimDuePeers(tx, AT_ONCE));
      const delegations = await transaction(database, async (tx) => claimDelegations(tx, AT_ONCE));
      await Promise.all([
        ...due.map(async ({ id }) => this.#tried(id, async () => refreshPeer(this.#parts, id, signal))),
        ...delegations.map(async (each) =>
          this.#tried(each.peer_id, async () => followDelegation(this.#parts, each, signal)),
        ),
      ]);
    } catch (error) {
      // The timer comes again.
      this.#logger.warn('peers could not be looked after', { error });
    }
  }

  async #tried(peer_id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        this.#logger.warn('a peer could not be looked after', { peer_id, error });
    }
  }
}
