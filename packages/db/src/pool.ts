import { drizzle } from 'drizzle-orm/node-postgres';
import { Pool } from 'pg';
import type { Logger } from '@acp/kernel';
import type { Statement } from './batch.ts';
import { countingClient } from './counting-client.ts';
import type { Notifier } from './notifier.ts';
import { growOnDemand } from './grow-on-demand.ts';
import { makePatient } from './patient-pool.ts';
import { allowSilence, endIfSilent } from './silence.ts';
import { restPool } from './rest-pool.ts';
import { StatementNames } from './statement-names.ts';
import type { Tx } from './tx.ts';

export interface PoolStats {
  max: number;
  total: number;
  idle: number;
  acquired: number;
  waiting: number;
}

export interface Database {
  /** For reads: each statement takes its own connection. A lone SELECT is sent again when its connection breaks. */
  db: Tx;
  pool: Pool;
  /** The statements that open a transaction. */
  readonly opening: readonly Statement[];
  /** How long to keep retrying something that could not even begin. */
  readonly patience_ms: number;
  /** A single connection outside the pool, created on first use. */
  sideConnection(): Database;
  /** Call it when a rush is over: gives back memory of PostgreSQL's that the next one would need again. */
  readonly rest: () => Promise<void>;
  /** Number of statements sent so far, BEGIN and COMMIT included. */
  readonly statements: () => number;
  readonly poolStats: () => PoolStats;
  /** Set by the process; without one, signals go nowhere and only polling finds the work. */
  notifier?: Notifier | undefined;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  max: number;
  application_name: string;
  logger?: Logger | undefined;
  /** How long to keep trying to connect, in milliseconds. Default 3,000. */
  connect_timeout_ms?: number;
  /** How long to wait for a free connection while all are in use. Default: the connect timeout. */
  queue_timeout_ms?: number;
  /** Maximum duration of one statement and of one wait for a lock. Defaults 30,000 and 10,000. */
  statement_timeout_ms?: number;
  lock_timeout_ms?: number;
  /** How long a connection may leave a statement without an answer before it is given up. Default: 5 s more than it may take. */
  answer_within_ms?: number;
  /** Statements may take hours, as if all called `takeTime`; then `answer_within_ms` is when the server is first asked. */
  patient?: boolean;
  /** Named statements are tied to a session: only where `url` is not a transaction-mode pooler. */
  prepared_statements?: boolean;
  /** How often within a minute a statement must come to be prepared under a name. Default `OFTEN`. */
  prepared_after?: number;
  /**
   * A transaction that is idle for this long is ended and its locks are released: the process may be frozen or cut off.
   * Behind a transaction-mode pooler this is for the pooler to set. Default 10,000.
   */
  idle_in_transaction_ms?: number;
}

// Our code waits for nothing but the database inside a transaction.
const IDLE_IN_TRANSACTION_MS = 10_000;
// The connection used last is used next, so after a rush those too many are soon idle: 20 MB of PostgreSQL's memory each.
const IDLE_MS = 30_000;
// Far longer than any statement of a healthy instance takes, yet short enough that a bad one can't hold up the rest.
const STATEMENT_MS = 30_000;
const LOCK_MS = 10_000;
// On top of a statement's maximum duration: for the answer's way here.
const ANSWER_MS = 5000;
// So that a firewall does not forget a connection whose statement takes hours.
const KEEP_ALIVE_MS = 60_000;

// JIT compilation takes tens of milliseconds and never pays off for our statements, which finish in a few.
const COMPILES_NOTHING = '-c jit=off';

// The isolation level is spelled out: the database's default may differ, and a pooler may hand out any session.
const BEGIN: Statement = { text: 'begin isolation level read committed' };

// Not a query, so a transaction may still choose another isolation level.
function localSettings(settings: Record<string, string | number>): Statement[] {
  return Object.entries(settings).map(([name, value]) => ({
    text: `set local ${name} = ${value}`,
    setting: true,
  }));
}

/** Opens nothing yet: connections are made on demand, and again after PostgreSQL restarts. */
export function openDatabase(options: DatabaseOptions): Database {
  let statements = 0;
  let side: Database | undefined;
  const connectTimeoutMs = options.connect_timeout_ms ?? 3000;
  const limits = {
    statement_timeout: options.statement_timeout_ms ?? STATEMENT_MS,
    lock_timeout: options.lock_timeout_ms ?? LOCK_MS,
  };
  const pool = new Pool({
    connectionString: options.url,
    max: options.max,
    application_name: options.application_name,
    connectionTimeoutMillis: options.queue_timeout_ms ?? connectTimeoutMs,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    // Statements that a transaction issues together are sent together (`together`); elsewhere each answer is awaited.
    pipeline: true,
    // A startup parameter of the connection, which poolers reject.
    ...(options.prepared_statements
      ? {
          ...limits,
          options: COMPILES_NOTHING,
          idle_in_transaction_session_timeout: options.idle_in_transaction_ms ?? IDLE_IN_TRANSACTION_MS,
        }
      : {}),
    Client: countingClient(() => (statements += 1), {
      names: options.prepared_statements ? new StatementNames(options.prepared_after) : undefined,
      connect_timeout_ms: connectTimeoutMs,
    }),
  });
  pool.on('error', (err) => {
    // Its server may be quicker than its farewell.
    if (!pool.ending) options.logger?.warn('an idle database connection was lost', { error: err.message });
  });
  const answerMs = options.answer_within_ms ?? limits.statement_timeout + ANSWER_MS;
  // What kept one connection from answering may have happened to all that were open then.
  const openedAt = new WeakMap<object, number>();
  let silentAt = -Infinity;
  pool.on('connect', (client) => {
    openedAt.set(client, performance.now());
    const { url, prepared_statements: sessions = options.patient } = options;
    endIfSilent(client, answerMs, { onSilence, url, sessions: sessions ?? false });
    if (options.patient) allowSilence(client);
  });
  function onSilence(): void {
    // One line for all connections that end together.
    if (performance.now() - silentAt > ANSWER_MS)
      options.logger?.warn('the database is connected and does not answer', { after_ms: answerMs });
    silentAt = performance.now();
  }
  growOnDemand(pool);
  makePatient(pool, connectTimeoutMs, (client) => openedAt.get(client)! <= silentAt);
  return {
    db: drizzle(pool),
    pool,
    // A pooler's sessions are shared, so there the transaction sets them itself.
    opening: options.prepared_statements ? [BEGIN] : [BEGIN, ...localSettings({ jit: 'off', ...limits })],
    patience_ms: connectTimeoutMs,
    sideConnection: () => (side ??= openDatabase({ ...options, max: 1 })),
    rest: async () => restPool(pool),
    statements: () => statements + (side?.statements() ?? 0),
    poolStats: () => ({
      max: options.max,
      total: pool.totalCount,
      idle: pool.idleCount,
      acquired: pool.totalCount - pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: async () => {
      await Promise.all([pool.end(), side?.close()]);
    },
  };
}
