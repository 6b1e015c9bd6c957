/**
 * Who a key or session is, remembered for some seconds. Entries are found by the token's hash and dropped by tag: the
 * ids of key, session, user, agent and companies that they depend on (channel 'credentials').
 */
import { WILDCARD } from '@acp/db';

interface CachedCredential<A> {
  readonly actor: A | undefined;
  readonly tags: readonly string[];
  /** Milliseconds after which it is nobody's any more: it is not remembered for longer. */
  readonly ends_in_ms?: number | null;
}

interface CacheOptions {
  max: number;
  ttl_ms: number;
  /** For tokens that are nobody's: shorter, and never the reason to forget a good one for long. */
  negative_ttl_ms: number;
  now?: () => number;
}

interface Entry<A> extends CachedCredential<A> {
  readonly expires_at: number;
}

export class CredentialCache<A> {
  readonly #options: CacheOptions;
  readonly #now: () => number;
  /** In order of use, least recent first. */
  readonly #entries = new Map<string, Entry<A>>();
  readonly #byTag = new Map<string, Set<string>>();
  readonly #loading = new Map<string, Promise<A | undefined>>();
  /** Counts drops: what was being read meanwhile may be older than the drop and is not kept. */
  #epoch = 0;

  constructor(options: CacheOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The actor if it is known now, null if it must be asked for. */
  peek(hash: string): A | undefined | null {
    const entry = this.#entries.get(hash);
    if (entry === undefined) return null;
    if (entry.expires_at <= this.#now()) {
      this.#remove(hash, entry);
      return null;
    }
    this.#entries.delete(hash);
    this.#entries.set(hash, entry);
    return entry.actor;
  }

  /** Asks once, however many requests wait for the same token. */
  async load(hash: string, read: () => Promise<CachedCredential<A>>): Promise<A | undefined> {
    const underway = this.#loading.get(hash);
    if (underway) return underway;
    const loading = this.#read(hash, read);
    this.#loading.set(hash, loading);
    try {
      return await loading;
    } finally {
      if (this.#loading.get(hash) === loading) this.#loading.delete(hash);
    }
  }

  async #read(hash: string, read: () => Promise<CachedCredential<A>>): Promise<A | undefined> {
    const epoch = this.#epoch;
    const began = this.#now();
    const found = await read();
    if (epoch === this.#epoch) this.#keep(hash, found, began);
    return found.actor;
  }

  /** Forgets what depends on any of the ids; `*` forgets everything. */
  drop(items: readonly string[]): void {
    this.#epoch += 1;
    // Callers after the drop must not join a look-up that began before it.
    this.#loading.clear();
    if (items.includes(WILDCARD)) {
      this.#entries.clear();
      this.#byTag.clear();
      return;
    }
    for (const item of items) {
      for (const hash of this.#byTag.get(item) ?? []) {
        const entry = this.#entries.get(hash);
        if (entry) this.#remove(hash, entry);
      }
    }
  }

  /** @param began when it was asked for: what ends so long after the answer was found ends no later than that */
  #keep(hash: string, { actor, tags, ends_in_ms }: CachedCredential<A>, began: number): void {
    const { max, ttl_ms, negative_ttl_ms } = this.#options;
    const old = this.#entries.get(hash);
    if (old) this.#remove(hash, old);
    const lifetime = actor === undefined ? negative_ttl_ms : ttl_ms;
    const expires_at = Math.min(this.#now() + lifetime, began + (ends_in_ms ?? Infinity));
    this.#entries.set(hash, { actor, tags, expires_at });
    for (const tag of tags) {
      const hashes = this.#byTag.get(tag);
      if (hashes) hashes.add(hash);
      else this.#byTag.set(tag, new Set([hash]));
    }
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= max) return;
      this.#remove(oldest, entry);
    }
  }

  #remove(hash: string, entry: Entry<A>): void {
    this.#entries.delete(hash);
    for (const tag of entry.tags) {
      const hashes = this.#byTag.get(tag);
      hashes?.delete(hash);
      if (hashes?.size === 0) this.#byTag.delete(tag);
    }
  }
}
