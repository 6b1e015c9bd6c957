import { link, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isUuid, makeFolders, newId, unavailable } from '@acp/kernel';
import { storeUnavailable } from './store-unavailable.ts';

/**
 * The id of a storage folder, created with it. Processes that start together agree on one: the file is created complete, by
 * linking it, and the first link wins.
 */
export async function readMarker(folder: string): Promise<string> {
  const path = join(folder, 'marker');
  const known = await readId(path);
  if (known !== undefined) return known;
  const temporary = join(folder, `marker-${newId()}`);
  try {
    await makeFolders(folder, 0o700);
    const file = await open(temporary, 'wx', 0o600);
    await file.writeFile(`${newId()}\n`);
    await file.sync();
    await file.close();
    await link(temporary, path).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    });
  } catch (error) {
    throw storeUnavailable(error);
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
  const made = await readId(path);
  if (made === undefined) throw unavailable('the marker of the storage folder is not a UUID');
  return made;
}

async function readId(path: string): Promise<string | undefined> {
  try {
    const id = (await readFile(path, 'utf8')).trim();
    return isUuid(id) ? id : undefined;
  } catch {
    return undefined;
  }
}
