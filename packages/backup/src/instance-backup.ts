/** Makes backups of a running instance, records them, and deletes old ones. */
import path from 'node:path';
import type { Backup } from '@acp/contract';
import {
  abandonedBackups,
  beginBackup,
  expiredBackups,
  failBackup,
  finishBackup,
  deleteBackup,
  clearBackupFile,
  noteBackupProgress,
} from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { type Config, explainError, type Logger, newId, type Vault } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import type { BackupStore } from './backup-store.ts';
import { type MadeBackup, makeBackup } from './make-backup.ts';
import { missingInWords } from './named-files.ts';

const PROGRESS_MS = 5000;
/**
 * When a partial file counts as the remains of a killed process. A folder of backups is written to by backups only, one at a
 * time, and the file may fill half a disk: it is gone once the next one may begin, which is two minutes after the process has
 * died. A bucket also receives the uploads of everybody else.
 */
const LEFTOVER_AFTER_MS = { local: 90_000, s3: 24 * 3600_000 };

interface InstanceParts {
  config: Pick<Config, 'home' | 'backup_retention_days'>;
  database: Database;
  /** Address of the database itself, bypassing any pooler. */
  direct_url: string;
  storage: Storage;
  backups: BackupStore;
  vault: Vault;
  logger: Logger;
}

/**
 * Makes a backup, perhaps one that was requested (`id`), and deletes expired ones.
 * @throws conflict while another one is being made; any error of the backup, which is also recorded in its row
 */
export async function backUpInstance(
  parts: InstanceParts,
  by: { id?: string | null; trigger: Backup['trigger']; claimed_by: string },
  signal: AbortSignal,
): Promise<MadeBackup & { id: string; file: string }> {
  const { database, backups, logger } = parts;
  const id = by.id ?? newId();
  const file = `${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z-${id.slice(0, 8)}.backup`;
  await transaction(database, async (tx) => beginBackup(tx, id, { ...by, file }));
  const given_up = new AbortController();
  const reporter = new ProgressReporter(database, id, given_up);
  try {
    const { store } = backups;
    await store.removeLeftovers(new Date(Date.now() - LEFTOVER_AFTER_MS[store.kind]));
    const made = await makeBackup(
      id,
      {
        database_url: parts.direct_url,
        storage: parts.storage,
        homes: path.join(parts.config.home, 'companies'),
        vault: parts.vault,
      },
      { store, key: backups.prefix + file },
      { progress: reporter.note, signal: AbortSignal.any([signal, given_up.signal]) },
    );
    const lacks = made.lost.count === 0 ? null : missingInWords(made.lost);
    await transaction(database, async (tx) => finishBackup(tx, id, { file, bytes: made.bytes, lacks }));
    logger.info('a backup was made', { file, bytes: made.bytes, left_out: made.trailer.left_out.length });
    if (lacks !== null) logger.warn('the backup lacks files', { file, lacks });
    // It counts whatever becomes of the old ones, which the next backup tries to delete again.
    await deleteExpired(parts).catch((unfinished: unknown) =>
      logger.warn('old backups could not be deleted', { error: unfinished }),
    );
    return { ...made, id, file };
  } catch (error) {
    const message = signal.aborted ? 'the process that made it was stopped' : explainError(error);
    await backups.store.delete(backups.prefix + file).catch(() => undefined);
    // If the database is away, the next backup finds this one without a process.
    await transaction(database, async (tx) => failBackup(tx, id, message)).catch((unrecorded: unknown) =>
      logger.warn('the failure of a backup could not be recorded', { error: unrecorded }),
    );
    throw error;
  } finally {
    reporter.stop();
  }
}

async function deleteExpired({ config, database, backups, logger }: InstanceParts): Promise<void> {
  for (const { id, file } of await abandonedBackups(database.db)) {
    await backups.store.delete(backups.prefix + file);
    await clearBackupFile(database.db, id);
    logger.info('the file of a backup that was broken off was deleted', { file });
  }
  for (const { id, file } of await expiredBackups(database.db, config.backup_retention_days)) {
    if (file !== null) await backups.store.delete(backups.prefix + file);
    await deleteBackup(database.db, id);
    if (file !== null) logger.info('an old backup was deleted', { file });
  }
}

/** Records the progress every few seconds, which is also the backup's heartbeat. */
class ProgressReporter {
  readonly #timer: NodeJS.Timeout;
  #at: Pick<Backup, 'phase' | 'bytes'> = { phase: 'database', bytes: 0 };

  constructor(database: Database, id: string, given_up: AbortController) {
    const report = async (): Promise<void> => {
      // The database may be away for a moment: if it stays away, the backup's own connection fails.
      const alive = await noteBackupProgress(database.db, id, this.#at).catch(() => true);
      if (!alive) given_up.abort(new Error('the backup was abandoned because its process is gone'));
    };
    this.#timer = setInterval(() => void report(), PROGRESS_MS).unref();
  }

  readonly note = (phase: NonNullable<Backup['phase']>, bytes: number): void => {
    this.#at = { phase, bytes };
  };

  stop(): void {
    clearInterval(this.#timer);
  }
}
