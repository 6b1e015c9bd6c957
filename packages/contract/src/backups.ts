/** What a backup says of itself: its first entry and its last. */
import { type Static, Type } from 'typebox';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';
import { createValidator } from './validator.ts';

export const BACKUP_FORMAT = 1;

export const backupStatuses = ['running', 'succeeded', 'failed'] as const;
export const backupTriggers = ['schedule', 'operator'] as const;
/** What is being done, in this order. */
export const backupPhases = ['database', 'storage', 'homes', 'verification'] as const;

/** The first entry of the archive: what a restore has to know before it changes anything. */
export const BackupHeader = Type.Object({
  format: Type.Literal(BACKUP_FORMAT),
  id: Uuid,
  created_at: Timestamp,
  version: Type.String(),
  /** Digests of the applied migrations, oldest first. */
  migrations: Type.Array(Type.String()),
  /** Fingerprints of the keys that the stored secrets need. */
  encryption_keys: Type.Array(Type.String()),
});
export type BackupHeader = Static<typeof BackupHeader>;

export const BackupTable = Type.Object({
  name: Type.String(),
  columns: Type.Array(Type.String()),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String(),
});
export type BackupTable = Static<typeof BackupTable>;

/** The last entry: an archive without it was cut off. */
export const BackupTrailer = Type.Object({
  tables: Type.Array(BackupTable),
  sequences: Type.Array(Type.Object({ name: Type.String(), last_value: Nullable(Type.String()) })),
  files: Type.Integer({ minimum: 0 }),
  file_bytes: Type.Integer({ minimum: 0 }),
  /** Digest over path and digest of each file, in the order of the archive. */
  files_sha256: Type.String(),
  /** Files of homes that are not in the backup, with the reason; the first hundred. */
  left_out: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() })),
});
export type BackupTrailer = Static<typeof BackupTrailer>;

export const readBackupHeader = createValidator(BackupHeader, 'header of the backup');
export const readBackupTrailer = createValidator(BackupTrailer, 'end of the backup');

/** A backup as operators see it. */
export const Backup = Type.Object({
  id: Uuid,
  status: OneOf(backupStatuses),
  trigger: OneOf(backupTriggers),
  phase: Nullable(OneOf(backupPhases)),
  file: Nullable(Type.String()),
  /** Of the file; while it is written, what has been read so far. */
  bytes: Type.Integer({ minimum: 0 }),
  error: Nullable(Type.String()),
  started_at: Timestamp,
  finished_at: Nullable(Timestamp),
});
export type Backup = Static<typeof Backup>;
