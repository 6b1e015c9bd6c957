import { setTimeout as delay } from 'node:timers/promises';
import { isConnectionError, migrate } from '@acp/db';
import type { Logger } from '@acp/kernel';
import { migrateQueue } from '@acp/queue';

/** How long startup waits for the database: containers of one stack start together. */
const WAIT_SEC = 60;

/** Migrates the schema and the queue's tables to this release; processes that start together take turns. */
export async function migrateInstance(url: string, logger: Logger, signal?: AbortSignal): Promise<void> {
  const giveUpAt = performance.now() + WAIT_SEC * 1000;
  for (let attempt = 0; ; attempt += 1) {
    try {
      await migrate({ url, logger, after: [migrateQueue] });
      return;
    } catch (error) {
      if (!isConnectionError(error) || performance.now() >= giveUpAt) throw error;
      if (attempt % 10 === 0) logger.warn('waiting for the database', { error });
      await delay(1000, undefined, signal === undefined ? {} : { signal });
    }
  }
}
