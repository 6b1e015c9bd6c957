/**
 * Prepared trees: most of the time that a new workspace takes is spent writing its files. After each one that was used,
 * another is created next to the copy of the repository, in the background; the next workspace takes it by a rename.
 * Agents never see it.
 */
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Config, dropTree, type Logger, newId } from '@acp/kernel';
import { git } from './git.ts';
import { whileRoom } from './room.ts';

const LOCAL_MS = 120_000;

type SpareConfig = Pick<Config, 'home' | 'workspace_min_free'>;

/** `<repository>.spare-<commit>`, with the files of that commit. */
const mark = (repository: string): string => `${basename(repository)}.spare-`;

/** Creates an empty repository that uses the objects of another, or adds to one what it lacks. */
export async function initTree(tree: string, repository: string, signal: AbortSignal): Promise<void> {
  const args = ['init', '--quiet', '--template=', '--initial-branch=none'];
  await git({ cwd: tree, args, signal, timeout_ms: LOCAL_MS });
  const info = join(tree, '.git', 'objects', 'info');
  await mkdir(info, { recursive: true });
  await writeFile(join(info, 'alternates'), `${join(repository, 'objects')}\n`);
}

/** Makes the files match the commit. */
export async function fillTree(tree: string, commit: string, signal: AbortSignal): Promise<void> {
  const args = ['-c', 'checkout.workers=4', 'read-tree', '--reset', '-u', commit];
  await git({ cwd: tree, args, signal, timeout_ms: LOCAL_MS });
}

/** Moves a spare to a path that does not exist yet. @returns the commit of its files; null: there is none */
export async function takeSpare(repository: string, tree: string): Promise<string | null> {
  const name = (await sparesOf(repository)).at(0);
  if (name === undefined) return null;
  // Someone else may be quicker.
  return rename(join(dirname(repository), name), tree).then(
    () => name.slice(mark(repository).length),
    () => null,
  );
}

async function sparesOf(repository: string): Promise<string[]> {
  const names = await readdir(dirname(repository)).catch(() => []);
  return names.filter((name) => name.startsWith(mark(repository)));
}

/** One scheduler's spares, which are created one after the other. */
export class SpareFolders {
  readonly #config: SpareConfig;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  readonly #wanted = new Set<string>();
  #work: Promise<void> = Promise.resolve();

  constructor(config: SpareConfig, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
  }

  /** Requests one with the files of the commit. Never rejects, and a failure is not reported to the caller. */
  want(repository: string, commit: string): void {
    if (this.#stop.signal.aborted || this.#wanted.has(repository)) return;
    this.#wanted.add(repository);
    this.#work = this.#after(this.#work, repository, commit);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #after(before: Promise<void>, repository: string, commit: string): Promise<void> {
    await before;
    try {
      await this.#make(repository, commit);
    } catch (err) {
      if (!this.#stop.signal.aborted)
        this.#logger.debug('no folder could be made ahead', { repository, error: err });
    } finally {
      this.#wanted.delete(repository);
    }
  }

  async #make(repository: string, commit: string): Promise<void> {
    const { signal } = this.#stop;
    signal.throwIfAborted();
    const top = dirname(repository);
    const name = `${mark(repository)}${commit}`;
    const known = await sparesOf(repository);
    if (known.includes(name)) return;
    const made = `${basename(repository)}.made-${newId()}`;
    try {
      await whileRoom(this.#config, signal, async (room) => {
        await mkdir(join(top, made), { mode: 0o700 });
        await initTree(join(top, made), repository, room);
        await fillTree(join(top, made), commit, room);
      });
      await rename(join(top, made), join(top, name));
    } catch (err) {
      await dropTree(top, made);
      throw err;
    }
    for (const old of known) await dropTree(top, old);
  }
}
