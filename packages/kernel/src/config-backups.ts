/** Variables for backups of the instance (decisions 7.29; specification, Limits). */
import { Type } from 'typebox';

export const backupVariables = {
  SERVICE_BACKUP_SCHEDULE: Type.String({
    format: 'backup-schedule',
    default: '0 3 * * *',
    description:
      'When a scheduler makes a backup: cron in UTC, or off. The instance setting backup_schedule wins over it.',
  }),
  SERVICE_BACKUP_STORE: Type.Enum(['folder', 's3'], {
    default: 'folder',
    description:
      'Where backups are kept: SERVICE_BACKUP_FOLDER, or the bucket of SERVICE_S3_*, below backups/.',
  }),
  SERVICE_BACKUP_FOLDER: Type.Optional(
    Type.String({
      format: 'path',
      default_note: 'backups in SERVICE_HOME',
      description: 'Folder of backups; on another disk than the instance’s it outlives that.',
    }),
  ),
  SERVICE_BACKUP_RETENTION_DAYS: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    default: 30,
    description: 'Days after which a backup is deleted; the newest one is kept.',
  }),
};
