import { knowsStorageMarker } from '@acp/core';
import { createListener, createNotifier, openDatabase } from '@acp/db';
import type { Database, Listener, Notifier } from '@acp/db';
import type { Config, Logger } from '@acp/kernel';
import { openInstanceStorage, type Storage } from '@acp/storage';

// Queries of a burst wait for a connection rather than fail; clients and proxies wait at least a minute.
export const QUEUE_MS = 20_000;

// A scheduler polls often enough; this only catches what a web process left behind while no scheduler ran.
const OUTBOX_POLL_MS = 10_000;

export function openTierDatabase(config: Config, logger: Logger, name: string): Database {
  if (config.database_url === null) throw new Error('the web tier needs a database url');
  return openDatabase({
    url: config.database_url,
    max: config.database_pool_size,
    application_name: name,
    logger,
    queue_timeout_ms: QUEUE_MS,
    // A different direct address implies a pooler in front of the database: named statements would get lost.
    prepared_statements: config.database_url === config.database_direct_url,
  });
}

export function openTierListener(config: Config, logger: Logger): Listener {
  return createListener({ url: directUrl(config), logger, application_name: 'web-listener' });
}

export function openTierNotifier(config: Config, logger: Logger): Notifier {
  const [url, poll_ms] = [directUrl(config), OUTBOX_POLL_MS];
  return createNotifier({ url, logger, application_name: 'web-notifier', poll_ms });
}

function directUrl(config: Config): string {
  const url = config.database_direct_url ?? config.database_url;
  if (url === null) throw new Error('the web tier needs a database url');
  return url;
}

/** The process's store; an error is logged if its folder is not the instance's. */
export async function openTierStorage(config: Config, database: Database, logger: Logger): Promise<Storage> {
  return openInstanceStorage(config, async (marker) => knowsStorageMarker(database.db, marker), logger);
}
