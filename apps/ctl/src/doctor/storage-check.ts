import { knowsStorageMarker } from '@acp/core';
import { newId } from '@acp/kernel';
import { openStorage } from '@acp/storage';
import { type Check, well, wrong } from './finding.ts';

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
      const key = `doctor/${newId()}`;
      await storage.put(key, one(Buffer.from('doctor')), { content_type: 'text/plain', max_bytes: 100 });
      const written = await storage.exists(key);
      await storage.delete(key);
      return written
        ? well(`${storage.kind} storage writes, reads and deletes`)
        : wrong('a file that was written is missing', 'check that the bucket or folder is persistent');
    } finally {
      storage.close();
    }
  },
};

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}
