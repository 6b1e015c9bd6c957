/** A backup's self-description (the first and last entries of the archive), and the endpoints for backups. */
import { type Static, Type } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, PageQuery, Timestamp, Uuid } from './schema-kit.ts';
import { createValidator } from './validator.ts';

/** Of the backups that are made. Those of format 1 have no folders, which files and links imply. */
export const BACKUP_FORMAT = 2;

/** `queued`: requested, and not yet begun by a scheduler. */
export const backupStatuses = ['queued', 'running', 'succeeded', 'failed'] as const;
export const backupTriggers = ['schedule', 'operator'] as const;
/** The phases of a backup, in this order. */
export const backupPhases = ['database', 'storage', 'homes', 'verification'] as const;

/** The first entry of the archive: everything a restore must know before it changes anything. */
export const BackupHeader = Type.Object({
  format: Type.Union([Type.Literal(1), Type.Literal(BACKUP_FORMAT)]),
  id: Uuid,
  created_at: Timestamp,
  version: Type.String(),
  /** Hashes of the applied migrations, oldest first. */
  migrations: Type.Array(Type.String()),
  /** Fingerprints of the keys needed to read the stored secrets. */
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

/** The last entry; an archive without it is truncated. */
export const BackupTrailer = Type.Object({
  tables: Type.Array(BackupTable),
  sequences: Type.Array(Type.Object({ name: Type.String(), last_value: Nullable(Type.String()) })),
  files: Type.Integer({ minimum: 0 }),
  file_bytes: Type.Integer({ minimum: 0 }),
  /** Hash over the path and hash of each file, in archive order. */
  files_sha256: Type.String(),
  /** Files that are missing from the backup, with the reason; the first hundred. */
  left_out: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() })),
});
export type BackupTrailer = Static<typeof BackupTrailer>;

export const readBackupHeader = createValidator(BackupHeader, 'header of the backup');
export const readBackupTrailer = createValidator(BackupTrailer, 'end of the backup');

/** A backup as shown to operators. */
export const Backup = Type.Object({
  id: Uuid,
  status: OneOf(backupStatuses),
  trigger: OneOf(backupTriggers),
  phase: Nullable(OneOf(backupPhases)),
  file: Nullable(Type.String()),
  /** Size of the file; while it is being written, the bytes read so far. */
  bytes: Type.Integer({ minimum: 0 }),
  /** Why it failed. Of one that succeeded: the files that rows name and that it lacks, since the store has lost them. */
  error: Nullable(Type.String()),
  /** While it is queued: when it was requested. */
  started_at: Timestamp,
  finished_at: Nullable(Timestamp),
});
export type Backup = Static<typeof Backup>;

const backups = {
  path: '/api/admin/backups',
  auth: BEARER,
  role: 'instance_admin',
  scope: { by: 'none' },
} as const;

export const backupEndpoints = {
  list: endpoint({
    ...backups,
    id: 'backups.list',
    method: 'GET',
    query: Type.Object(PageQuery),
    response: Type.Array(Backup),
    status: 200,
    tx: 'none',
    paged: true,
    doc: 'The instance’s backups, newest first.',
  }),
  request: endpoint({
    ...backups,
    id: 'backups.request',
    method: 'POST',
    response: Backup,
    status: 201,
    tx: 'write',
    doc: 'Requests a backup, which a scheduler begins within half a minute; 409 while one is requested or being made.',
  }),
};
