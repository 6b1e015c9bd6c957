/**
 * Resolves tokens to actors, without the database for those seen within the last few seconds (architecture, Conventions).
 * Revocations arrive on the channel 'credentials'; times and places of use are written in the background, in batches.
 */
import type { Actor, WorkerActor } from '@acp/contract';
import { findBearer, type NewSecurityEvent, resolveSession, resolveWorkers } from '@acp/core';
import { type Database, type Listener, type Notifier, WILDCARD } from '@acp/db';
import { Batches, isApiKey, sha256Hex } from '@acp/kernel';
import type { Logger } from '@acp/kernel';
import { CredentialCache } from './credential-cache.ts';
import { GatheredUses } from './gathered-uses.ts';
import { hearOwn } from './own-signals.ts';

export interface Credentials {
  /**
   * The user of a session token; undefined if the token is invalid.
   * @param fresh read from the database in any case
   */
  session(token: string, fresh?: boolean): Promise<Actor | undefined>;
  /**
   * The agent or integration of an API key; undefined if the key is invalid or a worker's.
   * @param address the request's address, for the security log
   * @param fresh read from the database in any case
   */
  bearer(token: string, address?: string, fresh?: boolean): Promise<Actor | undefined>;
  /** The worker of a worker key, whatever its status; undefined for any other key. */
  worker(token: string): Promise<WorkerActor | undefined>;
  /** Records a refusal in the security log, each at most once a minute. */
  refused(event: NewSecurityEvent): void;
  /** Forgets whatever depends on these ids: keys, sessions, users, agents, companies; `*` means everything. */
  drop(items: readonly string[]): void;
  /** Writes pending times of use. Never throws. */
  flush(): Promise<void>;
  /** Unsubscribes and flushes. */
  close(): Promise<void>;
}

interface CredentialsOptions {
  database: Database;
  logger: Logger;
  /** Without one, revocations by other processes are noticed once cache entries expire. */
  listener?: Listener | undefined;
}

const CACHE = { max: 10_000, ttl_ms: 10_000, negative_ttl_ms: 2000 };
/** Each worker of a fleet sends requests every few seconds; changes to workers are signalled. */
const WORKER_CACHE = { max: 20_000, ttl_ms: 60_000, negative_ttl_ms: 2000 };
/** Maximum number of keys per statement: after a restart a whole fleet arrives at the same time. */
const MOST_KEYS = 500;
const FLUSH_EVERY_MS = 3000;

// A token is 256 bits as base64url: anything else is not looked up.
const sessionToken = /^[\w-]{43}$/;

export function createCredentials(options: CredentialsOptions): Credentials {
  const { database, logger, listener } = options;
  const cache = new CredentialCache<Actor>(CACHE);
  // Separate caches: a key that is invalid in one must not be so in the other.
  const workers = new CredentialCache<WorkerActor>(WORKER_CACHE);
  const lookUps = new Batches<string, WorkerActor | undefined>({
    most: MOST_KEYS,
    perform: async (hashes) => resolveWorkers(database.db, hashes),
  });
  const drop = (items: readonly string[]) => {
    cache.drop(items);
    workers.drop(items);
  };
  const uses = new GatheredUses(database, logger);
  const flushing = setInterval(() => void uses.flush(), FLUSH_EVERY_MS).unref();
  const offItems = listener?.on('credentials', drop);
  // Notifications sent while the connection was down are lost.
  const offReconnect = listener?.onReconnect(() => drop([WILDCARD]));

  return {
    async session(token, fresh = false) {
      if (!sessionToken.test(token)) return undefined;
      const hash = sha256Hex(token);
      const read = async () => tagged(await resolveSession(database.db, hash));
      const actor = await cache.find(hash, read, fresh);
      uses.session(actor);
      return actor;
    },
    async bearer(token, address, fresh = false) {
      if (!isApiKey(token)) return undefined;
      const hash = sha256Hex(token);
      const read = async () => {
        const found = await findBearer(database.db, hash);
        return { ...tagged(found?.actor), ends_in_ms: found?.ends_in_ms };
      };
      const actor = await cache.find(hash, read, fresh);
      uses.key(actor, address);
      return actor;
    },
    async worker(token) {
      if (!isApiKey(token)) return undefined;
      const hash = sha256Hex(token);
      const known = workers.peek(hash);
      if (known !== null) return known;
      return workers.load(hash, async () => tagged(await lookUps.add(hash)));
    },
    refused: (event) => uses.refused(event),
    drop,
    flush: async () => uses.flush(),
    async close() {
      clearInterval(flushing);
      offItems?.();
      offReconnect?.();
      await uses.flush();
    },
  };
}

function tagged<A extends Actor>(actor: A | undefined): { actor: A | undefined; tags: string[] } {
  return { actor, tags: actor === undefined ? [] : tagsOf(actor) };
}

/** All ids whose change may affect what the actor is or may do. */
function tagsOf(actor: Actor): string[] {
  switch (actor.kind) {
    case 'user':
      return [actor.user_id, actor.session_id, ...Object.keys(actor.roles)].filter((id) => id !== null);
    case 'agent':
      return [actor.agent_id, actor.company_id, actor.key_id, actor.run_id].filter((id) => id !== null);
    case 'board_user':
      return [actor.key_id, actor.company_id];
    case 'worker':
      return [actor.worker_id];
    case 'system':
    case 'outside':
    case 'anonymous':
      return [];
  }
}

/** Revoked credentials are forgotten immediately: no request with one may be admitted after the revocation is answered. */
export function dropRevokedImmediately(notifier: Notifier, credentials: Pick<Credentials, 'drop'>): Notifier {
  return hearOwn(notifier, 'credentials', (items) => credentials.drop(items));
}
