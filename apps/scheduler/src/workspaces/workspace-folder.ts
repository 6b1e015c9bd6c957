/**
 * Where the folder of an issue lies on this machine. Around the agent's `tree` is the service's own: what version lies there,
 * and, of a workspace without a repository, the history that agents never see. A program sees the tree alone.
 */
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, dropTree, newId } from '@acp/kernel';
import { type FileLock, lockFile } from './file-lock.ts';
import { fillTree, initTree, takeSpare } from './spare-folders.ts';
import { git, gitText } from './git.ts';

const LOCAL_MS = 120_000;
/** A scheduler that is just letting go is waited for. */
const HELD_MS = 1000;

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
  const folder = join(home, 'companies', company_id, 'workspaces', issue_id);
  return { folder, tree: join(folder, 'tree') };
}

/** What lies in the tree, as far as the service knows. */
export interface FolderState {
  workspace_id: string;
  version: number;
  /** Of the lock files with which the set-up command was run last. */
  setup_hash: string | null;
}

/** Undefined where there is no tree, or none that is known. */
export async function readState({ folder, tree }: WorkspaceFolder): Promise<FolderState | undefined> {
  const text = await readFile(join(folder, 'state.json'), 'utf8').catch(() => null);
  if (text === null || (await stat(tree).catch(() => null)) === null) return undefined;
  const told = JSON.parse(text) as Partial<FolderState>;
  if (typeof told.workspace_id !== 'string' || typeof told.version !== 'number') return undefined;
  const setup_hash = typeof told.setup_hash === 'string' ? told.setup_hash : null;
  return { workspace_id: told.workspace_id, version: told.version, setup_hash };
}

export async function writeState({ folder }: WorkspaceFolder, state: FolderState): Promise<void> {
  const temporary = join(folder, `state-${newId()}`);
  await writeFile(temporary, JSON.stringify(state), { mode: 0o600 });
  await rename(temporary, join(folder, 'state.json'));
}

/** Moves a tree that is out of date out of the way: what a run left in it that never ended is somebody's work. */
export async function setAside({ folder, tree }: WorkspaceFolder): Promise<string | null> {
  const name = `left-${Date.now()}`;
  await rm(join(folder, 'state.json'), { force: true });
  return rename(tree, join(folder, name)).then(
    () => name,
    () => null,
  );
}

/**
 * For one run at a time, of whichever process. Null: it is in other hands, of a run whose scheduler was taken for lost and whose
 * program may still write.
 */
export async function holdFolder({ folder }: WorkspaceFolder, signal: AbortSignal): Promise<FileLock | null> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return lockFile(lockOf(folder), { wait_ms: HELD_MS, signal });
}

/** From whoever has it: that one goes on in what was moved aside. */
export async function seizeFolder(place: WorkspaceFolder, signal: AbortSignal): Promise<FileLock | null> {
  await rm(lockOf(place.folder), { force: true });
  return holdFolder(place, signal);
}

const lockOf = (folder: string): string => join(folder, 'lock');

export interface Checkout {
  /** Whose objects the tree leans on. */
  repository: string;
  branch: string;
  base: { branch: string; commit: string };
  head: string;
  /** What the files are: of a commit that the branch does not have, if it is another one. */
  work: string;
  repo_url: string;
  identifier: string;
}

/**
 * Makes the tree of a repository's workspace: complete or not at all. Its `.git` is its own, so that nothing that an agent
 * writes into its configuration reaches anybody else, and leans on the cache's objects.
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
    if (ready === null) {
      await mkdir(made, { mode: 0o700 });
      await initTree(made, repository, signal);
    }
    await furnish(join(made, '.git'), checkout);
    if (ready !== work) await fillTree(made, work, signal);
    if (work !== head) await run('reset', '--quiet', '--mixed', head);
    await rename(made, place.tree);
  } catch (err) {
    await dropTree(place.folder, made.split('/').at(-1)!);
    throw err;
  }
}

/** What is the workspace's own, beside the files. */
async function furnish(own: string, checkout: Checkout): Promise<void> {
  const { branch, base, head, identifier } = checkout;
  await writeFile(join(own, 'config'), configOf(checkout), { flag: 'a' });
  await writeFile(join(own, 'HEAD'), `ref: refs/heads/${branch}\n`);
  // As git sorts them, which it is told.
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

/** Every commit says which issue it is for, whoever makes it. */
function hookOf(identifier: string): string {
  return `#!/bin/sh
exec git interpret-trailers --in-place --if-exists doNothing --trailer "Issue: ${identifier}" "$1"
`;
}

/** Makes the tree of a workspace without a repository; of what its own history has, if that has anything. */
export async function layOut(
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

/** The history of a workspace that has no repository. */
export async function ownHistory({ folder }: WorkspaceFolder, signal: AbortSignal): Promise<string> {
  const repository = join(folder, 'history.git');
  const args = ['init', '--bare', '--quiet', '--template=', repository];
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await gitText({ cwd: folder, args, signal, timeout_ms: LOCAL_MS });
  return repository;
}
