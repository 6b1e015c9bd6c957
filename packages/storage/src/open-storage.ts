import { join } from 'node:path';
import { type Config, type Logger, makeHomeFolder } from '@acp/kernel';
import { LocalStorage } from './local.ts';
import type { Storage } from './storage.ts';

export type StorageConfig = Pick<
  Config,
  | 'home'
  | 'workspace_min_free'
  | 'storage'
  | 's3_bucket'
  | 's3_region'
  | 's3_endpoint'
  | 's3_access_key_id'
  | 's3_secret_access_key'
  | 's3_force_path_style'
  | 's3_prefix'
>;

/** Folder of the local store below SERVICE_HOME. */
const FOLDER = 'storage';

/** The configured store; nothing is accessed before its first use. */
export async function openStorage(config: StorageConfig): Promise<Storage> {
  if (config.storage === 'local')
    return new LocalStorage(join(config.home, FOLDER), { min_free: config.workspace_min_free });
  if (config.s3_bucket === null) throw new Error('no bucket is configured');
  const { S3Storage } = await import('./s3.ts');
  return new S3Storage({
    bucket: config.s3_bucket,
    region: config.s3_region,
    endpoint: config.s3_endpoint,
    access_key_id: config.s3_access_key_id,
    secret_access_key: config.s3_secret_access_key,
    prefix: config.s3_prefix === '' ? '' : `${config.s3_prefix}/`,
    force_path_style: config.s3_force_path_style,
  });
}

/**
 * Opens the store of a running process. Logs an error if its folder is not the instance's: it would lack the others' files
 * (decisions 6).
 *
 * @param knows whether the database knows a folder's marker
 */
export async function openInstanceStorage(
  config: StorageConfig,
  knows: (marker: string) => Promise<boolean>,
  logger: Logger,
): Promise<Storage> {
  if (config.storage === 'local') await makeHomeFolder(join(config.home, FOLDER), 0o700);
  const storage = await openStorage(config);
  const marker = await storage.markerId();
  if (marker !== null && !(await knows(marker)))
    logger.error('the storage folder is not the one that the database knows: share one folder, or use S3', {
      marker,
    });
  return storage;
}
