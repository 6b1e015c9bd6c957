import { knowsStorageMarker } from '@acp/core';
import type { Database } from '@acp/db';
import type { Config, Logger } from '@acp/kernel';
import { openStorage } from '@acp/storage';
import type { Storage } from '@acp/storage';

/** Opens the process's store. Logs an error if its folder is not the instance's: it would miss others' files (decisions 6). */
export async function openInstanceStorage(
  config: Config,
  database: Database,
  logger: Logger,
): Promise<Storage> {
  const storage = await openStorage(config);
  const marker = await storage.markerId();
  if (marker !== null && !(await knowsStorageMarker(database.db, marker)))
    logger.error('the storage folder is not the one that the database knows: share one folder, or use S3', {
      marker,
    });
  return storage;
}
