import { ConfigError } from './config.ts';
import { makeFolders } from './folders.ts';

/** What no retry mends: rights, a file system without room for folders or that can't be written, a file in the way. */
const MISPLACED = ['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'EEXIST'];

/** Creates SERVICE_HOME or a folder in it. @throws ConfigError where the variable names no place for that */
export async function makeHomeFolder(path: string, mode?: number): Promise<void> {
  try {
    await makeFolders(path, mode);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && MISPLACED.includes(String(error.code)))) throw error;
    const problem = `must be a folder in which this user may create files (${error.message})`;
    throw new ConfigError(new Map([['SERVICE_HOME', problem]]));
  }
}
