import { createHash } from 'node:crypto';
import { unavailable } from '@acp/kernel';
import type { StoredObject } from './storage.ts';

/**
 * The bytes of a stored file, if they are those that were stored. Stores don't check it, and whoever takes others for the file may store
 * them in its place. The reader drops what it has got when this throws; a body that is not even begun with stays its owner's to destroy.
 * @param damaged what is thrown at the first byte too many, or at the end
 */
export async function* intact(
  body: AsyncIterable<Uint8Array>,
  { size_bytes, sha256 }: StoredObject,
  damaged: () => Error,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let left = size_bytes;
  for await (const chunk of body) {
    left -= chunk.length;
    if (left < 0) throw damaged();
    hash.update(chunk);
    yield chunk;
  }
  if (left > 0 || hash.digest('hex') !== sha256) throw damaged();
}

/** @param name for people */
export const damagedFile = (name: string) => (): Error => unavailable(`the stored file is damaged: ${name}`);
