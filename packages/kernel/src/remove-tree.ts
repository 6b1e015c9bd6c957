/**
 * Removes folders that programs have filled, and may still be writing to: however wide or deep, with bounded memory and open
 * files, and without following a link that takes a folder's place on the way.
 */
import { constants } from 'node:fs';
import { chmod, type FileHandle, open, opendir, readlink, rename, rmdir, unlink } from 'node:fs/promises';
import { newId } from './ids.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** Flag for opening a folder: on Linux it can be held without the right to read it, which is then granted. */
export const HOLD_FOLDER = process.platform === 'linux' ? 0o10_000_000 : O_RDONLY;
/** Folders held open at a time. What lies deeper is moved up and removed by a later pass. */
const DEEPEST = 64;
const AT_ONCE = 16;
/** One character per byte: names of files need not be text. */
const encoding = 'latin1';

/**
 * @param parent held open by the caller, if others can write there
 * @throws for what can't be removed
 */
export async function removeTree(parent: string, name: string): Promise<void> {
  const place = at(parent, Buffer.from(name));
  if (await isUnlinked(place)) return;
  await inside(place, async (folder) => {
    while (!(await isEmptied(place))) if (!(await clear(folder, folder, 1))) return rmdir(place);
  });
}

/** One pass over a folder. @returns whether it has removed or moved anything */
async function clear(folder: string, root: string, depth: number): Promise<boolean> {
  let progress = false;
  const note = (changed: boolean): void => void (progress ||= changed);
  const names: Buffer[] = [];
  const removeNamed = async (): Promise<void> => {
    const places = names.splice(0).map((name) => at(folder, name));
    const gone = await Promise.all(places.map(isUnlinked));
    note(gone.includes(true));
    for (const place of places.filter((_, index) => gone[index] === false))
      note(await removeFolder(place, root, depth + 1).catch(() => false));
  };
  for await (const { name } of await opendir(folder, { encoding, bufferSize: AT_ONCE })) {
    names.push(Buffer.from(name, encoding));
    if (names.length === AT_ONCE) await removeNamed();
  }
  await removeNamed();
  return progress;
}

/** @returns whether it, or anything in it, is removed or moved */
async function removeFolder(place: Buffer, root: string, depth: number): Promise<boolean> {
  if (depth > DEEPEST) {
    await rename(place, at(root, Buffer.from(`dropped-${newId()}`)));
    return true;
  }
  const progress = await inside(place, async (folder) => clear(folder, root, depth));
  return (await isEmptied(place)) || progress;
}

/** Passes on a name that is bound to the folder. @throws if it is none: someone may have put a link in its place */
async function inside<T>(place: Buffer, work: (folder: string) => Promise<T>): Promise<T> {
  const handle = await open(place, HOLD_FOLDER | O_DIRECTORY | O_NOFOLLOW);
  try {
    const folder = await boundName(handle, place);
    const { mode } = await handle.stat();
    // Its owner may have taken the right to list it, or to remove something from it.
    if ((mode & 0o700) !== 0o700) await chmod(folder, 0o700).catch(() => undefined);
    return await work(folder);
  } finally {
    await handle.close();
  }
}

/** Without /proc, the path is all there is. */
async function boundName({ fd }: FileHandle, place: Buffer): Promise<string> {
  const held = `/proc/self/fd/${fd}`;
  return readlink(held).then(
    () => held,
    () => place.toString(),
  );
}

/** @returns false for a folder, and for what can't be removed */
async function isUnlinked(place: Buffer): Promise<boolean> {
  return unlink(place).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code === 'ENOENT',
  );
}

/** @returns false if something is in it, or it can't be removed */
async function isEmptied(place: Buffer): Promise<boolean> {
  return rmdir(place).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code === 'ENOENT',
  );
}

const at = (folder: string, name: Buffer): Buffer => Buffer.concat([Buffer.from(`${folder}/`), name]);
