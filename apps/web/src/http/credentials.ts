/**
 * From token to actor, without the database for those seen within the last seconds (architecture, Conventions).
 * Revocations arrive on the channel 'credentials'; times and places of use are written off the request, in batches.
 */
import type { Actor, WorkerActor } from '@acp/contract';
import { findBearer, type NewSecurityEvent, resolveSession, resolveWorkers } from '@acp/core';
import { type Database, type Listener, type Notifier, WILDCARD } from '@acp/db';
import { Batches, isApiKey, sha256Hex } from '@acp/kernel';
import type { Logger } from '@acp/kernel';
import { CredentialCache } from './credential-cache.ts';
import { GatheredUses } from './gathered-uses.ts';

export interface Credentials {
  /** The user of a session token; undefined when it is nobody's. */
  session(token: string): Promise<Actor | undefined>;
  /**
   * The agent or integration of an API key; undefined when it is nobody's, a worker's too.
   * @param address from where it came, for the security log
   */
  bearer(token: string, address?: string): Promise<Actor | undefined>;
  /** The worker of a worker key, whatever its status; undefined for every other key. */
  worker(token: string): Promise<WorkerActor | undefined>;
  /** For the security log: a refusal, once a minute each. */
  refused(event: NewSecurityEvent): void;
  /** Forgets what depends on these ids: keys, sessions, users, agents, companies; `*` is all. */
  drop(items: readonly string[]): void;
  /** Writes the times of use that are still pending. Never throws. */
  flush(): Promise<void>;
  /** Unsubscribes and flushes. */
  close(): Promise<void>;
}

interface CredentialsOptions {
  database: Database;
  logger: Logger;
  /** Without one, revocations made by other processes are noticed when the cache forgets. */
  listener?: Listener | undefined;
}

const CACHE = { max: 10_000, ttl_ms: 10_000, negative_ttl_ms: 2000 };
/** A fleet asks every few seconds, each worker for itself; what changes of a worker is signalled. */
const WORKER_CACHE = { max: 20_000, ttl_ms: 60_000, negative_ttl_ms: 2000 };
/** Keys of one statement: a fleet comes all at once when the service is started again. */
const MOST_KEYS = 500;
const FLUSH_EVERY_MS = 3000;

// A token is 256 bits as base64url: anything else costs no look-up.
const sessionToken = /^[\w-]{43}$/;

export function createCredentials(options: CredentialsOptions): Credentials {
  const { database, logger, listener } = options;
  const cache = new CredentialCache<Actor>(CACHE);
  // Apart from the others: one key must not be nobody's there because it is nobody's here.
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
  // What was said while the connection was down is lost.
  const offReconnect = listener?.onReconnect(() => drop([WILDCARD]));

  return {
    async session(token) {
      if (!sessionToken.test(token)) return undefined;
      const hash = sha256Hex(token);
      const known = cache.peek(hash);
      const actor =
        known === null
          ? await cache.load(hash, async () => tagged(await resolveSession(database.db, hash)))
          : known;
      uses.session(actor);
      return actor;
    },
    async bearer(token, address) {
      if (!isApiKey(token)) return undefined;
      const hash = sha256Hex(token);
      const known = cache.peek(hash);
      const actor =
        known === null
          ? await cache.load(hash, async () => {
              const found = await findBearer(database.db, hash);
              return { ...tagged(found?.actor), ends_in_ms: found?.ends_in_ms };
            })
          : known;
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

/** Every id whose change may change what the actor is or may do. */
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
    case 'anonymous':
      return [];
  }
}

/**
 * A notifier that has this process forget revoked credentials at once: the answer to a revocation must not be overtaken
 * by a request with what it revoked.
 */
export function dropRevokedAtOnce(notifier: Notifier, credentials: Pick<Credentials, 'drop'>): Notifier {
  return {
    push(channel, items) {
      if (channel === 'credentials') credentials.drop(items);
      notifier.push(channel, items);
    },
    sequenceNow: async () => notifier.sequenceNow(),
    close: async () => notifier.close(),
  };
}
