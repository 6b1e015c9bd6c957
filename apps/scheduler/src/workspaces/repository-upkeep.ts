/** What the service's own repositories need now and then. Call it while no one else writes to them. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { git } from './git.ts';

/** Number of packs from which they are merged into one. */
const MANY_PACKS = 40;
const UNREACHABLE = '45.days.ago';
/** Longer than nearly all runs, which may have fetched what depends on them. */
const CROWDED = '6.hours.ago';
const MERGE_MS = 15 * 60_000;
/** No one keeps a git lock, or leaves a file unwritten, for this long. */
const STALE_MS = 20 * 60_000;

/** Where packs of a workspace are until they are whole. */
export const TAKEN = 'taken-';
const PACKS = join('objects', 'pack');
const isHalfPack = (name: string): boolean => /^objects\/pack\/(tmp_|\.tmp-)/.test(name);

/** Removes what a killed process leaves behind: locks, which git would not wait for, and half-written packs. */
export async function dropStale(folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  for (const name of names) {
    const isLock = name.endsWith('.lock') && !name.startsWith('objects/');
    if (!isLock && !isHalfPack(name) && !/^bundle-|^taken-[^/]+$/.test(name)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > STALE_MS)
      await rm(path, { recursive: true, force: true });
  }
}

/** Removes what the work has left half-written if it fails; git does not, and it may be as large as a whole repository. */
export async function withoutRemains<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const halves = async (): Promise<string[]> =>
    (await readdir(join(folder, PACKS)).catch(() => [])).filter((name) => isHalfPack(join(PACKS, name)));
  const before = new Set(await halves());
  try {
    return await work();
  } catch (err) {
    for (const name of await halves())
      if (!before.has(name)) await rm(join(folder, PACKS, name), { force: true });
    throw err;
  }
}

/**
 * Many packs slow everything down. Unreachable objects are kept for longer than an unused folder, since one being created
 * may depend on them; but in what has grown too much, as by a branch that is replaced by force again and again, no longer than
 * a run takes.
 * @param most_bytes that may be beside the largest pack
 */
export async function mergePacks(
  folder: string,
  signal: AbortSignal,
  most_bytes = Number.POSITIVE_INFINITY,
): Promise<void> {
  const sizes = await packSizes(folder);
  const isCrowded = sum(sizes) - Math.max(0, ...sizes) > most_bytes;
  if (sizes.length < MANY_PACKS && !isCrowded) return;
  const since = isCrowded ? CROWDED : UNREACHABLE;
  const within = { cwd: folder, signal, timeout_ms: MERGE_MS };
  await git({ ...within, args: ['pack-refs', '--all'] }).catch(() => undefined);
  const args = ['repack', '-a', '-d', '--cruft', `--cruft-expiration=${since}`, '--quiet'];
  // Git before 2.37 has no cruft packs, which record the age of each object.
  const older = isCrowded
    ? ['repack', '-A', '-d', `--unpack-unreachable=${since}`, '--quiet']
    : ['repack', '-a', '-d', '--keep-unreachable', '--quiet'];
  await withoutRemains(folder, async () =>
    git({ ...within, args }).catch(async () => git({ ...within, args: older })),
  ).catch(() => undefined);
}

async function packSizes(folder: string): Promise<number[]> {
  const names = await readdir(join(folder, PACKS)).catch(() => []);
  const sizes: number[] = [];
  for (const name of names.filter((each) => each.endsWith('.pack')))
    sizes.push((await stat(join(folder, PACKS, name)).catch(() => ({ size: 0 }))).size);
  return sizes;
}

const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);
