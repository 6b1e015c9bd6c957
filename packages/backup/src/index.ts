/**
 * Backups: one file with database, storage and homes. Deals with files and connections; core decides which backups exist,
 * when one is due and how long it is kept.
 */
export { ArchiveWriter } from './archive-writer.ts';
export { makeBackup } from './make-backup.ts';
export type { BackupSources, BackupTarget, MadeBackup } from './make-backup.ts';
export { restoreBackup } from './restore-backup.ts';
export type { RestoreTarget } from './restore-backup.ts';
export { verifyBackup } from './verify-backup.ts';
export { openBackupStore } from './backup-store.ts';
export type { BackupStore, BackupStoreConfig } from './backup-store.ts';
export { backUpInstance } from './instance-backup.ts';
export type { InstanceParts } from './instance-backup.ts';
