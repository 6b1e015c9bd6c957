import { backUpInstance, openBackupStore } from '@acp/backup';
import { dueBackup, endSilentBackups } from '@acp/core';
import { transaction } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import type { TimerContext } from '../context.ts';

/** A process is busy enough at startup; a new instance still gets its first backup within its first minute. */
const AFTER_START_MS = 30_000;

type Parts = Pick<
  TimerContext,
  'claimed_by' | 'config' | 'database' | 'direct_url' | 'logger' | 'started_at' | 'storage' | 'vault'
>;

/**
 * Makes a backup if one is due, on one scheduler only. A failure is logged and recorded in the backup's row, by this look or, if
 * the process that made it has died, by a later one: no other may be due for long.
 */
export async function makeDueBackup(parts: Parts, signal: AbortSignal): Promise<void> {
  const { config, database, started_at, claimed_by } = parts;
  if (Date.now() - started_at.getTime() < AFTER_START_MS) return;
  const { due, silent } = await dueBackup(database.db, config.backup_schedule);
  if (silent) await transaction(database, endSilentBackups);
  if (due === undefined) return;
  const backups = await openBackupStore(config);
  try {
    await backUpInstance({ ...parts, backups }, { ...due, claimed_by }, signal);
  } catch (error) {
    // Another scheduler was faster, or this one is being stopped.
    if (signal.aborted || (error instanceof ServiceError && error.kind === 'conflict')) return;
    throw error;
  } finally {
    backups.store.close();
  }
}
