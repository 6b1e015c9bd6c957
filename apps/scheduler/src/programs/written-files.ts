/**
 * What programs have written into folders since some moment. They may still be writing: links are not followed, even one that takes
 * a folder's place on the way, and time and entries are limited. Reads are synchronous, in slices of a few milliseconds: this runs
 * while a disk fills up, and takes a sixth of the time of asynchronous ones.
 */
import {
  chmodSync,
  closeSync,
  constants,
  type Dir,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  renameSync,
  type Stats,
  unlinkSync,
} from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { dropTree, HOLD_FOLDER, newId } from '@acp/kernel';

const { O_DIRECTORY, O_NOFOLLOW } = constants;
const isLinux = process.platform === 'linux';
/** Each level keeps two files open. Nobody nests deeper without wanting to hide something. */
const DEEPEST = 200;
const MOST_ENTRIES = 2_000_000;
const MOST_MS = 15_000;
const SLICE_MS = 4;
/** One character per byte: names of files need not be text. */
const encoding = 'latin1';
const BLOCK = 512;
/** The largest files are removed first: usually a few of them are the cause, and small ones may be settings. */
const SIZES = [16 * 1024 ** 2, 512 * 1024, 16 * 1024, 0];

export interface WrittenFolder {
  /** A name that is bound to the folder as long as that is held. */
  here: string;
  /** `dev:ino`: nothing is read under a name that has come to mean another folder. */
  identity: string;
  /** In milliseconds by the clock of the disk. */
  since: number;
}

interface Visitor {
  file(place: Buffer, found: Stats): void;
  /** A folder in `here` that is nested too deep to be entered. */
  tooDeep(here: string, place: Buffer): Promise<void>;
}

/** Bytes on disk of the files changed since; at least these, if there are more files than can be read in time. */
export async function bytesWritten(folders: readonly WrittenFolder[]): Promise<number> {
  let total = 0;
  for (const folder of folders)
    await walk(folder, {
      file: (_, found) => {
        if (found.ctimeMs >= folder.since) total += bytesOf(found);
      },
      tooDeep: async () => {
        total = Infinity;
        return Promise.resolve();
      },
    });
  return total;
}

/**
 * Removes files made or changed since, the largest first, until no more than `kept` bytes of what was written are left.
 * @returns the bytes that were removed
 */
export async function removeWritten(folders: readonly WrittenFolder[], kept: number): Promise<number> {
  let left = await bytesWritten(folders);
  let removed = 0;
  for (const least of SIZES)
    for (const folder of folders) {
      if (left <= kept) return removed;
      await walk(folder, {
        file: (place, found) => {
          if (left <= kept || !isMadeSince(found, folder.since) || found.blocks * BLOCK < least) return;
          unlinkSync(place);
          removed += bytesOf(found);
          left -= bytesOf(found);
        },
        tooDeep: dropHidden,
      });
    }
  return removed;
}

/** Its name need not be text, so it gets one that is. */
async function dropHidden(here: string, place: Buffer): Promise<void> {
  const name = `dropped-${newId()}`;
  attempt(() => renameSync(place, `${here}/${name}`));
  await dropTree(here, name);
}

/** Each of a file's names has its part. */
const bytesOf = ({ blocks, nlink }: Stats): number => (blocks * BLOCK) / Math.max(1, nlink);

/** Not a file that was merely renamed or given other rights. Some file systems don't record when a file was created. */
function isMadeSince({ ctimeMs, birthtimeMs, mtimeMs }: Stats, since: number): boolean {
  return ctimeMs >= since && (birthtimeMs === 0 || birthtimeMs >= since || mtimeMs >= since);
}

async function walk({ here, identity }: WrittenFolder, visitor: Visitor): Promise<void> {
  await new Walk(visitor).enter(Buffer.from(`${here}/.`), 1, identity);
}

class Walk {
  readonly #visitor: Visitor;
  readonly #endsAt = performance.now() + MOST_MS;
  #left = MOST_ENTRIES;
  #pauseAt = 0;

  constructor(visitor: Visitor) {
    this.#visitor = visitor;
  }

  async enter(place: Buffer, depth: number, identity?: string): Promise<void> {
    const fd = attempt(() => openSync(place, HOLD_FOLDER | O_DIRECTORY | O_NOFOLLOW));
    if (fd === undefined) return;
    try {
      const { dev, ino, mode } = fstatSync(fd, { bigint: true });
      if (identity !== undefined && identity !== `${dev}:${ino}`) return;
      const here = isLinux ? `/proc/self/fd/${fd}` : place.toString();
      // Its owner may have taken the right to list it.
      if ((mode & 0o500n) !== 0o500n) attempt(() => chmodSync(here, 0o700));
      const entries = attempt(() => opendirSync(here, { encoding, bufferSize: 128 }));
      if (entries !== undefined) await this.#read(entries, here, depth);
    } finally {
      closeSync(fd);
    }
  }

  async #read(entries: Dir, here: string, depth: number): Promise<void> {
    try {
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
        if ((this.#left -= 1) < 0 || performance.now() > this.#endsAt) return;
        if (performance.now() > this.#pauseAt) {
          await nextTurn();
          this.#pauseAt = performance.now() + SLICE_MS;
        }
        const place = Buffer.concat([Buffer.from(`${here}/`), Buffer.from(entry.name, encoding)]);
        const found = attempt(() => lstatSync(place));
        if (found?.isFile() === true) attempt(() => this.#visitor.file(place, found));
        if (found?.isDirectory() !== true) continue;
        if (depth < DEEPEST) await this.enter(place, depth + 1);
        else await this.#visitor.tooDeep(here, place);
      }
    } catch {
      // Something took the folder's place, or the disk failed: what was read counts.
    } finally {
      entries.closeSync();
    }
  }
}

/** Undefined for what has been removed meanwhile, is something else now, or is not ours. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
