/**
 * Owns `backups`: which there are, whether one is due, and how long they are kept.
 * Invariants: at most one is running; one whose process has ended is failed by whoever looks next; the newest that
 * succeeded is kept, however old it is.
 */
export { beginBackup, failBackup, finishBackup, noteBackupProgress } from './run-backup.ts';
export { isBackupDue, isBackupRunning, lastSuccessfulBackup, listBackups } from './read-backups.ts';
export { abandonedBackups, expiredBackups, forgetBackup, forgetFile } from './retention.ts';
