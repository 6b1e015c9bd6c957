/**
 * Owns `backups`: the list of backups, when one is due, and how long they are kept.
 * Invariants: at most one is running; one whose process has died is marked as failed when the next one begins; the newest
 * successful one is kept, however old it is.
 */
export { beginBackup, failBackup, finishBackup, noteBackupProgress } from './run-backup.ts';
export { isBackupDue, isBackupRunning, lastSuccessfulBackup, listBackups } from './read-backups.ts';
export { abandonedBackups, expiredBackups, deleteBackup, clearBackupFile } from './retention.ts';
