import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { admitEncryptionKey, admitEnvironmentLicense, deleteProcess, knowsStorageMarker } from '@acp/core';
import { createListener, createNotifier, type Database, openDatabase, transaction } from '@acp/db';
import type { Config, Logger, Vault } from '@acp/kernel';
import { openInstanceStorage, type Storage } from '@acp/storage';
import { type WorkspaceSources, workspaceSources } from './workspaces/sources.ts';

/** Opens the process's connections, then checks the database's encryption key and the license or trial. */
export async function openPool(
  { url, direct_url }: { url: string; direct_url: string },
  config: Config,
  { vault, logger }: { vault: Vault; logger: Logger },
): Promise<Database> {
  const database = openDatabase({
    url,
    max: config.database_pool_size,
    application_name: 'scheduler',
    logger,
    // A separate direct address implies a pooler in front of the database, where named statements would get lost.
    prepared_statements: url === direct_url,
  });
  await transaction(database, async (tx) => admitEncryptionKey(tx, vault));
  // A scheduler may be the instance's first process, and the only one that is given the license.
  await admitEnvironmentLicense(database, config, logger);
  return database;
}

/** Listens for signals, and sends them after a commit, each on a connection of its own. */
export function openLinks(url: string, logger: Logger) {
  return {
    listener: createListener({ url, logger, application_name: 'scheduler-listener' }),
    // The timer for due work checks the outbox as well, in its one statement for everything.
    notifier: createNotifier({ url, logger, application_name: 'scheduler-notifier', poll_ms: 0 }),
  };
}

/** The process's store; an error is logged if its folder is not the instance's. */
export async function openTierStorage(config: Config, database: Database, logger: Logger): Promise<Storage> {
  return openInstanceStorage(config, async (marker) => knowsStorageMarker(database.db, marker), logger);
}

/** What others may know of, and do with, the connections on which the tier works; its notifier and listener have their own. */
export type TierConnections = Pick<Database, 'statements' | 'poolStats' | 'rest'>;

export const connectionsOf = ({ statements, poolStats, rest }: Database): TierConnections => ({
  statements,
  poolStats,
  rest,
});

/** Names this process in `claimed_by`, uniquely even if its process id is reused. */
export function instanceName(): string {
  return `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`;
}

/** Reports that this process is stopping on purpose. Best effort: fails silently if the database is gone. */
export async function leaveFleet(database: Database, name: string): Promise<void> {
  await Promise.race([
    deleteProcess(database.db, name).catch(() => undefined),
    delay(1000, undefined, { ref: false }),
  ]);
}

/** Returns what most parts of the process work with, including the folders of issues. */
export function withWorkspaces<S extends Parameters<typeof workspaceSources>[0]>(
  shared: S,
): S & { workspaces: WorkspaceSources } {
  return { ...shared, workspaces: workspaceSources(shared) };
}
