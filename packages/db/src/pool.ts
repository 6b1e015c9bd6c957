import { drizzle } from 'drizzle-orm/node-postgres';
import { Pool } from 'pg';
import type { Logger } from '@acp/kernel';
import type { Statement } from './batch.ts';
import { countingClient } from './counting-client.ts';
import type { Notifier } from './notifier.ts';
import { makePatient } from './patient-pool.ts';
import type { Tx } from './tx.ts';

export interface PoolStats {
  max: number;
  total: number;
  idle: number;
  acquired: number;
  waiting: number;
}

export interface Database {
  /** For reads: each statement takes a connection of its own. A lone SELECT is sent again when its connection broke. */
  db: Tx;
  pool: Pool;
  /** What opens a transaction. */
  readonly opening: readonly Statement[];
  /** For how long something is tried again that could not even begin. */
  readonly patience_ms: number;
  /** One connection beside the pool's, made when it is asked for. */
  aside(): Database;
  /** Statements sent so far, BEGIN and COMMIT included. */
  statements(): number;
  poolStats(): PoolStats;
  /** Set by the process; without one, signals go nowhere and polls find the work. */
  notifier?: Notifier | undefined;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  max: number;
  application_name: string;
  logger?: Logger | undefined;
  /** How long a connection is tried again, in milliseconds. Default 3,000. */
  connect_timeout_ms?: number;
  /** How long one waits for a free connection while all are in use. Default: as long as for a new one. */
  queue_timeout_ms?: number;
  /** How long one statement, and one wait for a lock, may take. Defaults 30,000 and 10,000. */
  statement_timeout_ms?: number;
  lock_timeout_ms?: number;
  /** Named statements live in a session: only where `url` is no transaction-mode pooler. */
  prepared_statements?: boolean;
  /**
   * A transaction that stays silent for so long ends, and its locks with it: the process may be frozen or cut off.
   * Behind a transaction-mode pooler that is the pooler's to set. Default 10,000.
   */
  idle_in_transaction_ms?: number;
}

// Nothing of ours waits for anything but the database inside a transaction.
const IDLE_IN_TRANSACTION_MS = 10_000;
// Far longer than any statement of a healthy instance takes, and short enough that a bad one can't hold up the rest.
const STATEMENT_MS = 30_000;
const LOCK_MS = 10_000;

// Compiling a statement takes tens of milliseconds, and pays for none of ours: they end after a few.
const COMPILES_NOTHING = '-c jit=off';

// The isolation is spelled out: the database's own default may be another one, and a pooler may hand out any session.
const BEGIN: Statement = { text: 'begin isolation level read committed' };

// No query: a transaction that wants another isolation still may say so.
function localSettings(settings: Record<string, string | number>): Statement[] {
  return Object.entries(settings).map(([name, value]) => ({
    text: `set local ${name} = ${value}`,
    setting: true,
  }));
}

/** Opens nothing yet: connections are made when they are needed, and made anew after a restart of PostgreSQL. */
export function openDatabase(options: DatabaseOptions): Database {
  let statements = 0;
  let aside: Database | undefined;
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
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    // What one transaction asks at a time goes out at once (`together`); elsewhere each answer is awaited.
    pipeline: true,
    // A parameter of the connection's start, which poolers refuse.
    ...(options.prepared_statements
      ? {
          ...limits,
          options: COMPILES_NOTHING,
          idle_in_transaction_session_timeout: options.idle_in_transaction_ms ?? IDLE_IN_TRANSACTION_MS,
        }
      : {}),
    Client: countingClient(() => (statements += 1), {
      keep_names: options.prepared_statements ?? false,
      connect_timeout_ms: connectTimeoutMs,
    }),
  });
  pool.on('error', (err) => {
    options.logger?.warn('an idle database connection was lost', { error: err.message });
  });
  makePatient(pool, connectTimeoutMs);
  return {
    db: drizzle(pool),
    pool,
    // A pooler's session is anybody's: there the transaction sets them for itself.
    opening: options.prepared_statements ? [BEGIN] : [BEGIN, ...localSettings({ jit: 'off', ...limits })],
    patience_ms: connectTimeoutMs,
    aside: () => (aside ??= openDatabase({ ...options, max: 1 })),
    statements: () => statements + (aside?.statements() ?? 0),
    poolStats: () => ({
      max: options.max,
      total: pool.totalCount,
      idle: pool.idleCount,
      acquired: pool.totalCount - pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: async () => {
      await Promise.all([pool.end(), aside?.close()]);
    },
  };
}
