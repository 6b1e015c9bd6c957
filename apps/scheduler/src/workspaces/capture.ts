/**
 * Captures what a folder contains at the end of a run, as commits. Git reads the folder inside the sandbox, since its
 * configuration and everything else in it belong to the agent. The output is a pack, which is taken into the service's
 * own repository and inspected there.
 */
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Reach, runShell, type SandboxSpec, shutIn, type ShutInConfig } from '@acp/adapters';
import { BUBBLEWRAP_MEND, type Config, dropTree, findBubblewrap, newId, storableText } from '@acp/kernel';
import { CAPTURE_SCRIPT } from './capture-script.ts';
import { git, type GitCall, gitConfiguration, GitError, tolerated } from './git.ts';
import { TAKEN } from './repository-upkeep.ts';
import type { WorkspaceFolder } from './workspace-folder.ts';

type CaptureConfig = ShutInConfig & Pick<Config, 'repository_max_size' | 'workspace_max_change'>;

interface Capture {
  repository: string;
  workspace_id: string;
  kind: 'repository' | 'folder';
  base_commit: string | null;
  /** From the previous capture. */
  head_commit: string | null;
  /** Whether uncommitted changes become a commit of the branch. */
  commit: boolean;
  message: string;
  author: { name: string; email: string };
}

export interface Captured {
  /** Null: nothing has ever been committed. */
  head: string | null;
  /** The files as they are. */
  work: string | null;
  size_bytes: number;
  /** There was no time to count all of it: it has at least that size. */
  is_larger: boolean;
  /** Paths that were left out: the first ones, and the total count. */
  too_large: string[];
  too_large_count: number;
  /** Working folders of other branches, unreadable repositories, and those above a limit, also left out. */
  nested: string[];
  nested_count: number;
  /** State of the folder's own repository: unless it was read, what was committed there does not appear as commits. */
  own_repository: 'read' | 'broken' | 'too large';
}

const TIME_SEC = 180;
/** The share of it allowed for the agent's own repository. */
const OWN_SEC = 110;
/** The share for measuring the folder. */
const SIZE_SEC = 20;
const HASH = /^[0-9a-f]{40}$/;
/** Larger files are not committed, in bytes. */
const LARGEST = 50 * 1024 ** 2;
const MOST_LARGE = 1000;
const MOST_NESTED = 50;
const LOCAL_MS = 120_000;

interface CaptureBy {
  run_id: string;
  as_host: boolean;
  signal: AbortSignal;
  size_sec?: number;
}

/** @param as_host the agent's program ran without a sandbox. Throws GitError, and the signal's reason. */
export async function capture(
  config: CaptureConfig,
  place: WorkspaceFolder & { identity: string },
  what: Capture,
  { run_id, as_host, signal, size_sec = SIZE_SEC }: CaptureBy,
): Promise<Captured> {
  const out = join(place.folder, `out-${newId()}`);
  await mkdir(out, { mode: 0o700 });
  try {
    const end = await runShell(
      {
        command: [],
        home: out,
        cwd: place.tree,
        env: {
          ...environment(config, out, place, what),
          SIZE_SEC: String(size_sec),
          SERVICE_RUN_ID: run_id,
        },
        timeout_sec: TIME_SEC,
        session: null,
        container: null,
        sandbox: await walls(config, as_host),
        workspace: {
          path: place.tree,
          identity: place.identity,
          readable: [join(what.repository, 'objects')],
        },
      },
      CAPTURE_SCRIPT,
      signal,
    );
    if (end.timed_out) throw new GitError(`the folder could not be read within ${TIME_SEC} s`, null);
    if (end.code !== 0)
      throw new GitError(end.tail.trim().slice(-500) || 'the folder could not be read', end.code);
    return await takeOver(config, out, what, signal);
  } finally {
    await dropTree(place.folder, basename(out));
  }
}

/** Without network. Throws GitError if there is no sandbox and the program had fewer rights than the scheduler. */
async function walls(config: CaptureConfig, as_host: boolean): Promise<SandboxSpec | undefined> {
  const found = await findBubblewrap();
  if ('reason' in found) {
    if (as_host) return undefined;
    throw new GitError(`workspaces can’t be looked into: ${found.reason}; ${BUBBLEWRAP_MEND}`, null);
  }
  const reach = new Reach({ places: [] });
  return { ...shutIn(config, found.file), readable: [], reach, loopback: null };
}

/** Overrides the configuration of any repository. */
const settings = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['gc.auto', '0'],
  ['submodule.recurse', 'false'],
  ['advice.addEmbeddedRepo', 'false'],
  // Larger files are packed as they are read, without deltas: looking for what they share with others takes minutes.
  ['core.bigFileThreshold', '4m'],
  ['core.compression', '1'],
] as const;

function environment(
  { workspace_max_change }: CaptureConfig,
  out: string,
  { tree }: WorkspaceFolder,
  what: Capture,
): Record<string, string> {
  const { name, email } = what.author;
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LANG: 'C.UTF-8',
    HOME: out,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CEILING_DIRECTORIES: join(tree, '..'),
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    TREE: tree,
    OUT: out,
    OBJECTS: join(what.repository, 'objects'),
    KIND: what.kind,
    BASE: what.base_commit ?? '',
    KNOWN: what.head_commit ?? what.base_commit ?? '',
    COMMIT: what.commit ? 'yes' : 'no',
    MESSAGE: what.message,
    LARGEST: String(LARGEST),
    MOST_NEW: String(workspace_max_change),
    MOST_LARGE: String(MOST_LARGE),
    MOST_NESTED: String(MOST_NESTED),
    OWN_SEC: String(OWN_SEC),
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ALLOW_PROTOCOL: 'none',
    ...gitConfiguration(settings),
  };
}

const owns: Partial<Record<string, Captured['own_repository']>> = { yes: 'read', large: 'too large' };

/** Trusts nothing in the output: hashes must be hashes, and the objects are what git makes of them. */
async function takeOver(
  config: CaptureConfig,
  out: string,
  { repository, workspace_id, base_commit }: Capture,
  signal: AbortSignal,
): Promise<Captured> {
  const report = new Map(
    (await boundedText(join(out, 'result')))
      .split('\n')
      .map((line) => line.split('=', 2) as [string, string]),
  );
  const head = hashIn(report.get('head'));
  const work = hashIn(report.get('work'));
  const local = { cwd: repository, signal, timeout_ms: LOCAL_MS };
  if (work !== null && work !== base_commit) {
    await takeObjects(config, join(out, 'pack'), local);
    // Walks from what the repository already has to the reported commit, so that nothing on the way may be missing.
    const all = ['rev-list', '--objects', '--quiet', work, '--not', '--all'];
    await git({ ...local, args: all }).catch(() => {
      signal.throwIfAborted();
      throw new GitError('the folder’s contents do not match what was announced', null);
    });
  }
  if (head !== null && head !== work) await assertAncestor(repository, head, work ?? head, signal);
  const refs = Object.entries({ head, work, base: base_commit }).flatMap(([name, commit]) =>
    commit === null ? [] : [`update refs/service/${workspace_id}/${name} ${commit}\n`],
  );
  await git({ ...local, args: ['update-ref', '--stdin'], stdin: refs.join('') });
  const [, kilobytes = 0, mark] = /^(\d{1,12})(\+?)$/.exec(report.get('size') ?? '') ?? [];
  return {
    head,
    work,
    size_bytes: Number(kilobytes) * 1024,
    is_larger: mark !== '',
    too_large: await pathsIn(join(out, 'large')),
    too_large_count: Number(report.get('large') ?? 0) || 0,
    nested: await pathsIn(join(out, 'nested')),
    nested_count: Number(report.get('nested') ?? 0) || 0,
    own_repository: owns[report.get('own') ?? ''] ?? 'broken',
  };
}

/**
 * Takes the objects into the repository after the same checks as a fetch from a server: what others would refuse to check
 * out is refused here.
 */
async function takeObjects(
  config: CaptureConfig,
  pack: string,
  local: Pick<GitCall, 'cwd' | 'signal' | 'timeout_ms'>,
): Promise<void> {
  const most = config.repository_max_size;
  const objects = join(local.cwd, 'objects');
  const taken = join(local.cwd, `${TAKEN}${newId()}`);
  const file = await open(pack, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => null,
  );
  try {
    await mkdir(join(taken, 'pack'), { recursive: true, mode: 0o700 });
    const found = await file?.stat();
    if (file === null || found?.isFile() !== true) throw new GitError('the folder returned no objects', null);
    if (found.size > most) throw new GitError('the changes are larger than the limit', null);
    const args = ['index-pack', '--stdin', '--fix-thin', `--strict=${tolerated.join(',')}`];
    await git({ ...local, args, stdin: file, max_file: most, env: takenInto(taken, objects) });
    // Last the index: with it, git knows the pack.
    const parts = (await readdir(join(taken, 'pack'))).toSorted(
      (a, b) => Number(a.endsWith('.idx')) - Number(b.endsWith('.idx')),
    );
    for (const part of parts) await rename(join(taken, 'pack', part), join(objects, 'pack', part));
  } finally {
    await file?.close();
    await rm(taken, { recursive: true, force: true });
  }
}

/** Apart from what is fetched meanwhile: whoever ends such a fetch removes what it left. */
const takenInto = (taken: string, objects: string): Record<string, string> => ({
  GIT_OBJECT_DIRECTORY: taken,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: objects,
});

async function assertAncestor(
  repository: string,
  head: string,
  work: string,
  signal: AbortSignal,
): Promise<void> {
  const args = ['merge-base', '--is-ancestor', head, work];
  await git({ cwd: repository, args, signal, timeout_ms: LOCAL_MS }).catch(() => {
    signal.throwIfAborted();
    throw new GitError('the branch does not match what was announced', null);
  });
}

const hashIn = (text: string | undefined): string | null =>
  text !== undefined && HASH.test(text) ? text : null;

const MOST_TEXT = 512 * 1024;

/** Empty if it is not a file, or longer than it can be. */
async function boundedText(path: string): Promise<string> {
  const found = await lstat(path).catch(() => null);
  if (found === null || !found.isFile() || found.size > MOST_TEXT) return '';
  return readFile(path, 'utf8');
}

async function pathsIn(path: string): Promise<string[]> {
  return (await boundedText(path))
    .split('\0')
    .filter((each) => each !== '')
    .map(storableText);
}
