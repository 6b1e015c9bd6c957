/**
 * The folder of an issue on this machine. Around the agent's `tree` is the service's own data: which version is there and,
 * for a workspace without a repository, the history, which agents never see. A program sees the tree only.
 */
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { companyFolders } from '@acp/core';
import { type Config, dropTree, newId, openInside, UnsafePlace, writeInside } from '@acp/kernel';
import { type FileLock, lockFile } from './file-lock.ts';
import { fillTree, initTree, takeSpare } from './spare-folders.ts';
import { git, GitError, gitText } from './git.ts';
import { dropStale, mergePacks } from './repository-upkeep.ts';

const LOCAL_MS = 120_000;
/** Waits for a scheduler that is just about to release it. */
const HELD_MS = 1000;
/** Begins the name of a tree that was moved aside, followed by when: the times of its files are its program's. */
const LEFT = 'left-';

export interface WorkspaceFolder {
  /** The service's own. */
  folder: string;
  /** The agent's. */
  tree: string;
}

export function folderOf(
  { home }: Pick<Config, 'home'>,
  { company_id, issue_id }: { company_id: string; issue_id: string },
): WorkspaceFolder {
  const folder = join(companyFolders(home, company_id).workspaces, issue_id);
  return { folder, tree: join(folder, 'tree') };
}

/** What the tree contains, as far as the service knows. */
interface FolderState {
  workspace_id: string;
  version: number;
  /** Hash of the lock files with which the set-up command last ran. */
  setup_hash: string | null;
}

/** Undefined if there is no tree, or no known one. */
export async function readState({ folder, tree }: WorkspaceFolder): Promise<FolderState | undefined> {
  const text = await readFile(join(folder, 'state.json'), 'utf8').catch(() => null);
  if (text === null || (await stat(tree).catch(() => null)) === null) return undefined;
  const { workspace_id, version, setup_hash } = parsed(text);
  if (typeof workspace_id !== 'string' || typeof version !== 'number') return undefined;
  return { workspace_id, version, setup_hash: typeof setup_hash === 'string' ? setup_hash : null };
}

/** Empty for what a power cut has left of it. */
function parsed(text: string): Partial<FolderState> {
  try {
    return Object(JSON.parse(text)) as Partial<FolderState>;
  } catch {
    return {};
  }
}

export async function writeState({ folder }: WorkspaceFolder, state: FolderState): Promise<void> {
  const temporary = join(folder, `state-${newId()}`);
  await writeFile(temporary, JSON.stringify(state), { mode: 0o600 });
  await rename(temporary, join(folder, 'state.json'));
}

/** Moves an outdated tree out of the way: it may contain work of a run that never finished. */
export async function setAside({ folder, tree }: WorkspaceFolder): Promise<string | null> {
  const name = `${LEFT}${Date.now()}`;
  await rm(join(folder, 'state.json'), { force: true });
  return rename(tree, join(folder, name)).then(
    () => name,
    () => null,
  );
}

/** For how long a name says that it is aside, in milliseconds; null for any other name. */
export function asideFor(name: string): number | null {
  const since = name.startsWith(LEFT) ? Number(name.slice(LEFT.length)) : NaN;
  return Number.isNaN(since) ? null : Date.now() - since;
}

/**
 * Locks the folder for one run across all processes. Null: it is in use by a run whose scheduler was declared lost and
 * whose program may still be writing.
 */
export async function holdFolder({ folder }: WorkspaceFolder, signal: AbortSignal): Promise<FileLock | null> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return lockFile(lockOf(folder), { wait_ms: HELD_MS, signal });
}

/**
 * Handles a run of another scheduler of this machine that was declared lost but whose program may still be running: that
 * one keeps its folder, moved aside, and its lock; this run gets a folder as last stored.
 */
export async function takeOver(
  place: WorkspaceFolder,
  signal: AbortSignal,
  tell: (message: string) => void,
): Promise<FileLock> {
  const left = await setAside(place);
  tell(`the folder is still in the hands of an earlier run: it is kept aside as ${left ?? 'nothing'}`);
  await rm(lockOf(place.folder), { force: true });
  const lock = await holdFolder(place, signal);
  if (lock === null) throw new GitError('the folder is in use by another run', null);
  return lock;
}

const lockOf = (folder: string): string => join(folder, 'lock');

export interface Checkout {
  /** Provides the objects that the tree depends on. */
  repository: string;
  branch: string;
  base: { branch: string; commit: string };
  head: string;
  /** State of the files: a commit that is not on the branch if it differs from `head`. */
  work: string;
  repo_url: string;
  identifier: string;
}

/**
 * Creates the tree of a workspace with a repository, completely or not at all. Its `.git` is its own, so that an agent's
 * changes to its configuration affect no one else, and uses the cache's objects.
 */
export async function checkOut(
  place: WorkspaceFolder,
  checkout: Checkout,
  signal: AbortSignal,
): Promise<void> {
  const { repository, head, work } = checkout;
  await mkdir(place.folder, { recursive: true, mode: 0o700 });
  const made = join(place.folder, `made-${newId()}`);
  const run = async (...args: string[]) => git({ cwd: made, args, signal, timeout_ms: LOCAL_MS });
  try {
    const ready = await takeSpare(repository, made);
    if (ready === null) await mkdir(made, { mode: 0o700 });
    // One that was made ahead may have been moved with its home, or restored from a backup.
    await initTree(made, repository, signal);
    await furnish(join(made, '.git'), checkout);
    if (ready !== work) await fillTree(made, work, signal);
    if (work !== head) await run('reset', '--quiet', '--mixed', head);
    await rename(made, place.tree);
  } catch (err) {
    await dropTree(place.folder, made.split('/').at(-1)!);
    throw err;
  }
}

/** Writes what is the workspace's own besides the files. */
async function furnish(own: string, checkout: Checkout): Promise<void> {
  const { branch, base, head, identifier } = checkout;
  await writeFile(join(own, 'config'), configOf(checkout), { flag: 'a' });
  await writeFile(join(own, 'HEAD'), `ref: refs/heads/${branch}\n`);
  // In git's sort order, as declared in the header.
  const refs = [`${head} refs/heads/${branch}`, `${base.commit} refs/remotes/origin/${base.branch}`];
  const lines = ['# pack-refs with: peeled fully-peeled sorted ', ...refs, ''];
  await writeFile(join(own, 'packed-refs'), lines.join('\n'));
  await mkdir(join(own, 'info'), { recursive: true });
  await mkdir(join(own, 'hooks'), { recursive: true });
  const hook = join(own, 'hooks', 'prepare-commit-msg');
  await writeFile(hook, hookOf(identifier));
  await chmod(hook, 0o755);
}

function configOf({ repo_url, base }: Checkout): string {
  return [
    '[remote "origin"]',
    `\turl = ${repo_url}`,
    '\tfetch = +refs/heads/*:refs/remotes/origin/*',
    `[branch "${base.branch}"]`,
    '\tremote = origin',
    `\tmerge = refs/heads/${base.branch}`,
    '[gc]',
    '\tauto = 0',
    '[advice]',
    '\tdetachedHead = false',
    '',
  ].join('\n');
}

const ALTERNATES = '.git/objects/info/alternates';
const MOST_ALTERNATES = 64 * 1024;

/**
 * Has the tree look for the objects it depends on where they are: its home may have been moved since, or restored elsewhere.
 * What the agent has put in the way, or removed, stays as it is.
 */
export async function pointToObjects({ tree }: WorkspaceFolder, repository: string): Promise<void> {
  const objects = join(repository, 'objects');
  try {
    const file = await openInside(tree, ALTERNATES);
    if (file === null) return;
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_ALTERNATES), 0, MOST_ALTERNATES, 0);
      if (buffer.toString('utf8', 0, bytesRead).split('\n').includes(objects)) return;
    } finally {
      await file.close();
    }
    await writeInside(tree, ALTERNATES, Readable.from([Buffer.from(`${objects}\n`)]), 0o644);
  } catch (err) {
    if (!(err instanceof UnsafePlace)) throw err;
  }
}

/** Every commit names its issue, whoever makes it. */
function hookOf(identifier: string): string {
  return `#!/bin/sh
exec git interpret-trailers --in-place --if-exists doNothing --trailer "Issue: ${identifier}" "$1"
`;
}

/** Creates the tree of a workspace without a repository, from its own history if it has any. */
export async function checkOutFolder(
  place: WorkspaceFolder,
  from: { repository: string; work: string | null } | null,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(place.folder, { recursive: true, mode: 0o700 });
  const made = join(place.folder, `made-${newId()}`);
  await mkdir(made, { mode: 0o700 });
  try {
    if (from !== null && from.work !== null) {
      const index = join(place.folder, `index-${newId()}`);
      const args = [
        `--git-dir=${from.repository}`,
        `--work-tree=${made}`,
        'read-tree',
        '--reset',
        '-u',
        from.work,
      ];
      await git({ cwd: made, args, env: { GIT_INDEX_FILE: index }, signal, timeout_ms: LOCAL_MS });
      await rm(index, { force: true });
    }
    await rename(made, place.tree);
  } catch (err) {
    await dropTree(place.folder, made.split('/').at(-1)!);
    throw err;
  }
}

/** The history of a workspace without a repository. */
export async function ownHistory({ folder }: WorkspaceFolder, signal: AbortSignal): Promise<string> {
  const repository = join(folder, 'history.git');
  const args = ['init', '--bare', '--quiet', '--template=', repository];
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await gitText({ cwd: folder, args, signal, timeout_ms: LOCAL_MS });
  await dropStale(repository);
  await mergePacks(repository, signal);
  return repository;
}
