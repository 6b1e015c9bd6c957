import { type FileHandle, open } from 'node:fs/promises';
import { UsageError } from './command.ts';

/** Opens a file that the command line names. @throws UsageError naming it, as the system's error for a folder does not */
export async function openGiven(file: string): Promise<FileHandle> {
  const handle = await open(file).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new UsageError(`${file} can't be read: ${String(error.code)}`);
  });
  if (!(await handle.stat()).isDirectory()) return handle;
  await handle.close();
  throw new UsageError(`${file} can't be read: it is a folder`);
}
