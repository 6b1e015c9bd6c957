import { type FileHandle, open, rm } from 'node:fs/promises';

/** Has a file written for its user alone, completely or not at all. Throws EEXIST: what is there may be the only copy. */
export async function withNewFile<T>(file: string, write: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(file, 'wx', 0o600);
  try {
    const result = await write(handle);
    await handle.sync();
    return result;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

export const writeNewFile = async (file: string, text: string): Promise<void> =>
  withNewFile(file, async (handle) => handle.writeFile(text));
