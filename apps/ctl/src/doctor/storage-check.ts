import { openBackupStore } from '@acp/backup';
import { knowsStorageMarker } from '@acp/core';
import { newId } from '@acp/kernel';
import { openStorage, type Storage } from '@acp/storage';
import { type Check, type Verdict, well, wrong } from './finding.ts';

/** Writes, reads and deletes an object of its own: tells whether the store is usable, not just reachable. */
export const storageCheck: Check = {
  after: ['home', 'schema'],
  mend: 'correct SERVICE_S3_*, or make SERVICE_HOME/storage writable',
  run: async ({ config, database }) => {
    const storage = await openStorage(config);
    try {
      const marker = await storage.markerId();
      if (marker !== null && !(await knowsStorageMarker(database.db, marker, { remember: false })))
        return wrong(
          `folder ${marker} belongs to another instance`,
          'share one storage folder among all processes, or use SERVICE_STORAGE=s3',
        );
      return await tryOut(storage, { prefix: '', name: 'storage' });
    } finally {
      storage.close();
    }
  },
};

/** The same with the store of backups, of which nobody else would learn before the night. */
export const backupStoreCheck: Check = {
  after: ['home'],
  mend: 'correct SERVICE_BACKUP_STORE with SERVICE_S3_*, or make SERVICE_BACKUP_FOLDER writable',
  run: async ({ config }) => {
    const { store, prefix } = await openBackupStore(config);
    try {
      return await tryOut(store, { prefix, name: 'store of backups' });
    } finally {
      store.close();
    }
  },
};

async function tryOut(store: Storage, { prefix, name }: { prefix: string; name: string }): Promise<Verdict> {
  const key = `${prefix}doctor/${newId()}`;
  await store.put(key, one(Buffer.from('doctor')), { content_type: 'text/plain', max_bytes: 100 });
  const written = await store.exists(key);
  await store.delete(key);
  return written
    ? well(`${store.kind} ${name} writes, reads and deletes`)
    : wrong('a file that was written is missing', 'check that the bucket or folder is persistent');
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}
