import path from 'node:path';
import type { Config } from '@acp/kernel';
import { LocalStorage, openStorage, type Storage, type StorageConfig } from '@acp/storage';

type BackupStoreConfig = StorageConfig & Pick<Config, 'backup_folder' | 'backup_store'>;

/** Prefix of the backups in the bucket that also contains an instance's objects. */
export const BACKUPS = 'backups/';

/** Where an instance keeps its backups. */
export interface BackupStore {
  store: Storage;
  /** Prefix of the file names; empty if the store contains nothing else. */
  prefix: string;
}

export async function openBackupStore(config: BackupStoreConfig): Promise<BackupStore> {
  if (config.backup_store === 's3')
    return { store: await openStorage({ ...config, storage: 's3' }), prefix: BACKUPS };
  const folder = config.backup_folder ?? path.join(config.home, 'backups');
  return { store: new LocalStorage(folder), prefix: '' };
}
