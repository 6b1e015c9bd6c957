import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { unavailable } from '@acp/kernel';
import type { StoredObject } from './storage.ts';

/**
 * Has a stored file read, whose bytes must be those that were stored. Stores don't check it, and whoever takes others for the file may
 * store them in its place. `read` drops what it has got when its bytes throw. Destroys the body, though it may not even be begun with.
 * @param damaged what is thrown at the first byte too many, or at the end
 */
export async function readIntact(
  body: Readable,
  file: StoredObject,
  damaged: () => Error,
  read: (bytes: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  try {
    await read(intact(body, file, damaged));
  } finally {
    body.destroy();
  }
}

async function* intact(
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
