import { drizzle } from 'drizzle-orm/node-postgres';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { sql } from 'drizzle-orm';
import { Client } from 'pg';
import { join } from 'node:path';
import { conflict, type Logger, repositoryRoot } from '@acp/kernel';
import { withAdvisoryLock } from './advisory-lock.ts';
import { applyMigrations } from './apply-migrations.ts';
import { closeConnection } from './close-connection.ts';
import { isMissingTable } from './errors.ts';
import { watchForSilence } from './silence.ts';
import type { Tx } from './tx.ts';

/** The SQL files of this release and their journal. */
export const migrationsFolder = join(repositoryRoot, 'drizzle');

/** Further migrations under the same lock (the queue's). Must be idempotent, and cheap when nothing is pending. */
type MigrationHook = (url: string) => Promise<void>;

interface MigrateOptions {
  /** The direct address: the lock is tied to a session. */
  url: string;
  logger?: Logger | undefined;
  after?: readonly MigrationHook[];
  folder?: string;
  /** Only the oldest so many: the schema of an earlier release. */
  first?: number;
  /** Set when restoring into a database that the restore itself created; no one else may use it. */
  restoring?: boolean;
  /** How long a process may hold the lock without a sign of life. Default 60,000. */
  holder_silence_ms?: number;
  /** When the server is first asked whether it is still at work on a statement. Default 15,000. */
  answer_within_ms?: number;
}

interface MigrationStatus {
  known: number;
  applied: number;
  pending: number;
  /** Applied migrations that this release does not know: a newer release has been here. */
  unknown: number;
}

const LOCK = 'service-migrations';
const CONNECT_MS = 10_000;
const HOLDER_SILENCE_MS = 60_000;
/** Signs of life within that time. */
const SIGNS = 4;

/**
 * Migrates the schema to this release; processes that start together take turns (decisions 8.8).
 * Throws when the schema is newer than this release, when the text of an applied migration has changed, or when the
 * database belongs to an unfinished restore. A migration may take as long as it needs; a server that freezes is a connection error,
 * and a process that freezes loses the lock to the others.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const folder = options.folder ?? migrationsFolder;
  const silence = options.holder_silence_ms ?? HOLDER_SILENCE_MS;
  const client = new Client({
    connectionString: options.url,
    application_name: 'migrate',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  });
  client.on('error', (err) =>
    options.logger?.warn('the migration lost its connection', { error: err.message }),
  );
  const onWait = () => options.logger?.warn('waiting for another process, which is migrating the database');
  try {
    await client.connect();
    watchForSilence(client, options.url, options.answer_within_ms);
    await client.query(
      `set idle_session_timeout = ${silence}; set idle_in_transaction_session_timeout = ${silence}`,
    );
    const db = drizzle(client);
    const migrateAll = async () => {
      if (options.restoring !== true) await assertNotRestoring(db);
      const migrations = readMigrationFiles({ migrationsFolder: folder }).slice(0, options.first);
      const { pending, unknown } = await statusOf(db, hashesOf(migrations));
      if (unknown > 0) {
        throw conflict(
          `the database schema is newer than this release (${unknown} unknown migrations): start the newer release`,
        );
      }
      if (pending > 0) {
        await applyMigrations(client, migrations);
        const left = (await statusOf(db, hashesOf(migrations))).pending;
        // Migrations are compared by the time of the last applied one, so an older file that arrived by a merge would be skipped.
        if (left > 0)
          throw new Error(`${left} migrations are older than the last applied one: give them a newer time`);
        options.logger?.info('database migrated', { migrations: pending });
      }
      for (const hook of options.after ?? [])
        await giveSigns(client, silence / SIGNS, async () => hook(options.url));
    };
    await withAdvisoryLock(client, LOCK, migrateAll, onWait);
  } finally {
    await closeConnection(client);
  }
}

/** Keeps the session from timing out while other connections do the work. */
async function giveSigns(client: Client, every_ms: number, work: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => void client.query('select 1').catch(() => undefined), every_ms).unref();
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Where a restore records which backup it is restoring, from its first change to an empty database until all rows are in.
 * It has its own schema because the tables in `public` belong to the backup.
 */
export const RESTORE_NOTE = 'restoring.backup';

/** @throws conflict during a restore or after an interrupted one: anything written there would be lost */
export async function assertNotRestoring(tx: Tx): Promise<void> {
  if (await isRestoring(tx))
    throw conflict(
      'a backup is being restored into this database, or its restore was broken off: run `ctl db restore` again',
    );
}

/** For readiness and the operator: one read-only statement. */
export async function migrationStatus(tx: Tx, folder = migrationsFolder): Promise<MigrationStatus> {
  return statusOf(tx, folder === migrationsFolder ? (ownHashes ??= readHashes(folder)) : readHashes(folder));
}

async function statusOf(tx: Tx, hashByTime: Hashes): Promise<MigrationStatus> {
  const rows = await readApplied(tx);
  let unknown = 0;
  for (const { hash, created_at } of rows) {
    const known = hashByTime.get(Number(created_at));
    if (known === undefined) unknown += 1;
    else if (known !== hash)
      throw conflict(`an applied migration was changed afterwards (its time is ${created_at})`);
  }
  const applied = rows.length - unknown;
  return { known: hashByTime.size, applied, pending: hashByTime.size - applied, unknown };
}

/** Hashes of this release's migrations, oldest first. */
export function migrationHashes(): string[] {
  return [...(ownHashes ??= readHashes(migrationsFolder)).values()];
}

type Hashes = ReadonlyMap<number, string>;

// A release does not change while it runs, and probes ask often.
let ownHashes: Hashes | undefined;

const readHashes = (folder: string): Hashes => hashesOf(readMigrationFiles({ migrationsFolder: folder }));

const hashesOf = (migrations: readonly MigrationMeta[]): Hashes =>
  new Map(migrations.map(({ folderMillis, hash }) => [folderMillis, hash]));

async function readApplied(tx: Tx): Promise<{ hash: string; created_at: string }[]> {
  try {
    const { rows } = await tx.execute<{ hash: string; created_at: string }>(
      sql`select hash, created_at::text as created_at from drizzle.__drizzle_migrations order by created_at`,
    );
    return rows;
  } catch (err) {
    if (isMissingTable(err)) return [];
    throw err;
  }
}

/** Whether a restore into this database is in progress, or was broken off. */
export async function isRestoring(tx: Tx): Promise<boolean> {
  const { rows } = await tx.execute(sql`select where to_regclass(${RESTORE_NOTE}) is not null`);
  return rows.length > 0;
}
