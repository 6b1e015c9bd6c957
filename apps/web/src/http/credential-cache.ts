/**
 * Caches the owners of keys and sessions for some seconds. Entries are found by the token's hash and dropped by tag: the
 * ids of the key, session, user, agent and companies that they depend on (channel 'credentials').
 */
import { WILDCARD } from '@acp/db';

interface CachedCredential<A> {
  readonly actor: A | undefined;
  readonly tags: readonly string[];
  /** Milliseconds until the credential itself expires; it is not cached for longer. */
  readonly ends_in_ms?: number | null;
}

interface CacheOptions {
  max: number;
  ttl_ms: number;
  /** For invalid tokens: shorter, so that a good token is never rejected for long. */
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
  /** Counts drops: a read that overlaps a drop may be older than it and is not kept. */
  #epoch = 0;

  constructor(options: CacheOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The cached actor; null if it must be read. */
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

  /** The actor, cached or read. @param fresh read now: a revocation by another process takes milliseconds to arrive here */
  async find(hash: string, read: () => Promise<CachedCredential<A>>, fresh: boolean): Promise<A | undefined> {
    if (fresh) return this.#read(hash, read);
    const known = this.peek(hash);
    return known === null ? this.load(hash, read) : known;
  }

  /** Reads once, however many requests wait for the same token. */
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

  /** Drops everything that depends on any of the ids; `*` drops everything. */
  drop(items: readonly string[]): void {
    this.#epoch += 1;
    // Callers after the drop must not join a read that began before it.
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

  /** @param began start of the read: the expiry counts from then, so that no entry outlives its credential */
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
