/**
 * Trees that lie ready: most of the time that a new workspace takes is the writing of its files. Beside a copy of a repository
 * one is made after each that was used, while nobody waits; whoever needs one next takes it by a rename. Agents never see it.
 */
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Config, dropTree, type Logger, newId } from '@acp/kernel';
import { git } from './git.ts';
import { assertRoom } from './repository-cache.ts';

const LOCAL_MS = 120_000;

type SpareConfig = Pick<Config, 'home' | 'workspace_min_free'>;

/** `<repository>.spare-<commit>`, with the files of that commit. */
const mark = (repository: string): string => `${basename(repository)}.spare-`;

/** An empty repository whose objects are those of another. */
export async function initTree(tree: string, repository: string, signal: AbortSignal): Promise<void> {
  const args = ['init', '--quiet', '--template=', '--initial-branch=none'];
  await git({ cwd: tree, args, signal, timeout_ms: LOCAL_MS });
  const info = join(tree, '.git', 'objects', 'info');
  await mkdir(info, { recursive: true });
  await writeFile(join(info, 'alternates'), `${join(repository, 'objects')}\n`);
}

/** Makes the files those of the commit. */
export async function fillTree(tree: string, commit: string, signal: AbortSignal): Promise<void> {
  const args = ['-c', 'checkout.workers=4', 'read-tree', '--reset', '-u', commit];
  await git({ cwd: tree, args, signal, timeout_ms: LOCAL_MS });
}

/** Moves one to a place where nothing is. @returns the commit that its files are of; null: there is none */
export async function takeSpare(repository: string, tree: string): Promise<string | null> {
  const name = (await sparesOf(repository)).at(0);
  if (name === undefined) return null;
  // Another may be quicker.
  return rename(join(dirname(repository), name), tree).then(
    () => name.slice(mark(repository).length),
    () => null,
  );
}

async function sparesOf(repository: string): Promise<string[]> {
  const names = await readdir(dirname(repository)).catch(() => []);
  return names.filter((name) => name.startsWith(mark(repository)));
}

/** Of one scheduler: they are made one after the other. */
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

  /** One with the files of the commit, soon. Never rejects, and nobody is told that it could not be made. */
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
    await assertRoom(this.#config);
    const made = `${basename(repository)}.made-${newId()}`;
    try {
      await mkdir(join(top, made), { mode: 0o700 });
      await initTree(join(top, made), repository, signal);
      await fillTree(join(top, made), commit, signal);
      await rename(join(top, made), join(top, name));
    } catch (err) {
      await dropTree(top, made);
      throw err;
    }
    for (const old of known) await dropTree(top, old);
  }
}
