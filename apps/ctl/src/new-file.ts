import { open, rm } from 'node:fs/promises';

/** Writes a file for its user alone, completely or not at all. Throws EEXIST: what is there may be the only copy. */
export async function writeNewFile(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}
