/**
 * Backups: one file with database, storage and homes. Deals with files and connections; core decides which backups exist,
 * when one is due and how long it is kept.
 */
export { ArchiveWriter } from './archive-writer.ts';
export { restoreBackup } from './restore-backup.ts';
export { verifyBackup } from './verify-backup.ts';
export type { VerifiedBackup } from './verify-backup.ts';
export { keptBackups } from './adopt-place.ts';
export { openBackupStore } from './backup-store.ts';
export type { BackupStore } from './backup-store.ts';
export { backUpInstance } from './instance-backup.ts';
