/**
 * Owns `backups`: the list of backups, when one is due, and how long they are kept.
 * Invariants: at most one is running, and one more requested; one whose process has died is marked as failed within
 * minutes; the newest successful one is kept, however old it is.
 */
export { beginBackup, endSilentBackups, failBackup, finishBackup, noteBackupProgress } from './run-backup.ts';
export {
  dueBackup,
  isBackupRunning,
  lastSuccessfulBackup,
  listBackups,
  pageOfBackups,
} from './read-backups.ts';
export { requestBackup } from './request-backup.ts';
export { abandonedBackups, expiredBackups, deleteBackup, clearBackupFile } from './retention.ts';
