/**
 * Bare copies of repositories, one per company and URL. Workspaces are created from them, and their results are inspected
 * in and pushed from them. Agents can at most read their objects. What folders may depend on is not pruned.
 */
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BRANCH_NAME } from '@acp/contract';
import { companyFolders } from '@acp/core';
import { type Config, type HostList, newId, parseRepositoryUrl, sha256Hex } from '@acp/kernel';
import { lockFile } from './file-lock.ts';
import { git, type GitCall, GitError, gitText } from './git.ts';
import { openRemote, type RemoteConfig } from './remote-access.ts';
import { type Free, whileRoom } from './room.ts';
import { dropStale, mergePacks, withoutRemains } from './repository-upkeep.ts';

type CacheConfig = RemoteConfig & Pick<Config, 'home' | 'repository_max_size' | 'workspace_min_free'>;

export interface Repository {
  company_id: string;
  repo_url: string;
  /** For its host only. */
  secret: string | null;
  /** The company's list of allowed hosts. */
  list: HostList | null;
}

const isBranch = new RegExp(BRANCH_NAME);
const FETCH_MS = 15 * 60_000;
const LOCAL_MS = 60_000;
/** How far the clocks of machines that share the folder may be apart. */
const MOST_AHEAD_MS = 60_000;
/**
 * All of the history. Git asks for that only where a git service answers: with a server that just has the repository's files it would
 * fetch these one by one, unchecked, and any number of them.
 */
const ONLY_SERVED = '--depth=2147483647';
const UNSERVED = 'dumb http transport';
const SERVICE_REFS = 'refs/service/';
const STAMP = 'service-fetched';
/** Keys of the SSH hosts at which the company's repositories were reached. */
export const KNOWN_HOSTS = 'known_hosts';
/** Suffix of the lock file, which is next to the folder because creating the folder replaces it. */
export const LOCK = '.lock';

export class RepositoryCache {
  readonly #config: CacheConfig;
  readonly #free: Free | undefined;
  /** Work in progress, by folder: two fetches into one would fail over its refs. */
  readonly #busy = new Map<string, Promise<unknown>>();
  /** By folder, the hash that git last verified to be a commit of it: most runs start at the same one. */
  readonly #commits = new Map<string, string>();

  constructor(config: CacheConfig, free?: Free) {
    this.#config = config;
    this.#free = free;
  }

  /** Its path, whether it exists or not. Throws GitError for an invalid URL. */
  folderOf({ company_id, repo_url }: Pick<Repository, 'company_id' | 'repo_url'>): string {
    const remote = parseRepositoryUrl(repo_url);
    if (remote === undefined) throw new GitError('the repository’s URL is not allowed for git', null);
    const name = `${sha256Hex(remote.url).slice(0, 32)}.git`;
    return join(companyFolders(this.#config.home, company_id).repositories, name);
  }

  /**
   * Returns the folder, fetched at most that long ago. If the repository is unreachable and an older state is there,
   * `tolerant` accepts that. @returns `problem`: why it is older. Throws GitError.
   */
  async fetched(
    repository: Repository,
    { max_age_ms, tolerant, signal }: { max_age_ms: number; tolerant: boolean; signal: AbortSignal },
  ): Promise<{ folder: string; problem: string | null }> {
    const folder = this.folderOf(repository);
    const known = await ageOf(folder);
    // A caller that needs no fetch does not wait for someone else's.
    if (known !== null && known <= max_age_ms) return { folder, problem: null };
    return this.alone(folder, signal, async () => {
      const age = await ageOf(folder);
      if (age !== null && age <= max_age_ms) return { folder, problem: null };
      try {
        await this.#fetch(folder, repository, signal);
        return { folder, problem: null };
      } catch (err) {
        if (!(err instanceof GitError) || age === null || !tolerant) throw err;
        return { folder, problem: err.message };
      }
    });
  }

  /** The branch to work from: the named one, or the repository's default. Throws GitError. */
  async baseOf(
    folder: string,
    base_branch: string | null,
    signal: AbortSignal,
  ): Promise<{ branch: string; commit: string }> {
    const branch =
      base_branch ?? (await readFile(join(folder, 'service-head'), 'utf8').catch(() => '')).trim();
    if (branch === '')
      throw new GitError('the repository has no default branch: set one in the project', null);
    const ref = `refs/remotes/origin/${branch}`;
    // As stored after a fetch; if it is packed, git must be asked.
    const written = (await readFile(join(folder, ref), 'utf8').catch(() => '')).trim();
    if (written !== '' && this.#commits.get(folder) === written) return { branch, commit: written };
    const args = ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`];
    const commit = await this.local(folder, args, signal).catch(() => '');
    if (commit === '') throw new GitError(`the repository has no branch ${branch}`, null);
    if (commit === written) this.#commits.set(folder, commit);
    return { branch, commit };
  }

  /** Runs a command that stays on the machine; returns its output as text. */
  async local(folder: string, args: readonly string[], signal: AbortSignal): Promise<string> {
    return gitText({ cwd: folder, args, signal, timeout_ms: LOCAL_MS });
  }

  /** Runs a command that connects to the repository. */
  async remote(
    folder: string,
    { repo_url, secret, list }: Repository,
    args: (url: string) => readonly string[],
    signal: AbortSignal,
  ): Promise<string> {
    const met = join(dirname(folder), KNOWN_HOSTS);
    const access = await openRemote(this.#config, repo_url, { secret, list }, met);
    try {
      const call: GitCall = {
        cwd: folder,
        args: args(access.url),
        env: access.env,
        secrets: access.secrets,
        signal,
        timeout_ms: FETCH_MS,
        max_file: this.#config.repository_max_size,
      };
      return await gitText(call);
    } catch (err) {
      if (err instanceof GitError && err.message.includes(UNSERVED))
        throw new GitError(
          'the repository’s server only hands out its files, of which git checks nothing',
          null,
        );
      if (!(err instanceof GitError) || !access.refused()) throw err;
      throw new GitError(
        'the repository’s host may not be reached from this instance (SERVICE_REPOSITORY_HOSTS)',
        null,
      );
    } finally {
      await access.close();
    }
  }

  /** Serialises work on a cache: in order within this process, by a lock between the machine's processes. */
  async alone<T>(folder: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#busy.get(folder) ?? Promise.resolve();
    const mine = before.catch(() => undefined).then(async () => locked(folder, signal, work));
    this.#busy.set(folder, mine);
    try {
      return await mine;
    } finally {
      if (this.#busy.get(folder) === mine) this.#busy.delete(folder);
    }
  }

  async #fetch(folder: string, repository: Repository, signal: AbortSignal): Promise<void> {
    // First, since that may be what the disk is full of.
    await dropStale(folder);
    await mergePacks(folder, signal, this.#config.repository_max_size);
    const refs = ['--prune', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--quiet'];
    const args = (url: string) => [
      'fetch',
      ...refs,
      ...(url.startsWith('http') ? [ONLY_SERVED] : []),
      url,
      '+refs/heads/*:refs/remotes/origin/*',
    ];
    const isNew = (await ageOf(folder)) === null;
    const work = async (room: AbortSignal) => {
      if (isNew) await this.#create(folder, room);
      await withoutRemains(folder, async () => this.remote(folder, repository, args, room));
    };
    await whileRoom(this.#config, signal, work, this.#free).catch(async (err: unknown) => {
      // Nothing depends on it, and its branches alone may be millions of files.
      if (isNew) await rm(folder, { recursive: true, force: true });
      throw err;
    });
    const head = await this.remote(
      folder,
      repository,
      (url) => ['ls-remote', '--symref', url, 'HEAD'],
      signal,
    );
    const [, named = ''] = /^ref: refs\/heads\/(\S+)\s+HEAD/m.exec(head) ?? [];
    // A server may send anything; a name that projects may not use is not accepted as a branch.
    const branch = isBranch.test(named) ? named : '';
    await writeFile(join(folder, 'service-head'), branch, { mode: 0o600 });
    await writeFile(join(folder, STAMP), '', { mode: 0o600 });
    const now = new Date();
    await utimes(join(folder, STAMP), now, now);
  }

  /** Creates it completely or not at all: until then the folder has another name. */
  async #create(folder: string, signal: AbortSignal): Promise<void> {
    const temporary = `${folder}.${newId()}`;
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    try {
      const args = ['init', '--bare', '--quiet', '--template=', temporary];
      await git({ cwd: temporary, args, signal, timeout_ms: LOCAL_MS });
      await rm(folder, { recursive: true, force: true });
      await rename(temporary, folder);
    } catch (err) {
      await rm(temporary, { recursive: true, force: true });
      throw err;
    }
  }

  /** Forgets all other workspaces. Their commits are stored, and stay here until the next full repack. */
  async keepOnly(folder: string, workspace_ids: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    await this.alone(folder, signal, async () => {
      const listed = await this.local(folder, ['for-each-ref', '--format=%(refname)', SERVICE_REFS], signal);
      const gone = listed
        .split('\n')
        .filter((ref) => ref !== '' && !workspace_ids.has(ref.slice(SERVICE_REFS.length).split('/')[0]!));
      if (gone.length === 0) return;
      const stdin = gone.map((ref) => `delete ${ref}\n`).join('');
      await git({ cwd: folder, args: ['update-ref', '--stdin'], stdin, signal, timeout_ms: LOCAL_MS });
    });
  }
}

async function locked<T>(folder: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  const lock = await lockFile(`${folder}${LOCK}`, { wait_ms: null, signal });
  if (lock === null) throw new GitError('the company’s copy of the repository could not be locked', null);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** In milliseconds since the last fetch; null if there was none. After a clock was set back, no one knows: Infinity. */
async function ageOf(folder: string): Promise<number | null> {
  const found = await stat(join(folder, STAMP)).catch(() => null);
  if (found === null) return null;
  const age = Date.now() - found.mtimeMs;
  return age < -MOST_AHEAD_MS ? Infinity : Math.max(0, age);
}
