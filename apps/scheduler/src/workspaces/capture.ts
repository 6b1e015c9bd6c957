/**
 * What a folder holds at the end of a run, as commits. Git looks at the folder within walls, since its configuration, and
 * whatever else lies in it, is the agent's; what comes out is a bundle, which is taken into a repository of the service's own
 * and looked at there.
 */
import { lstat, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Reach, runShell, type SandboxSpec } from '@acp/adapters';
import { BUBBLEWRAP_MEND, type Config, findBubblewrap, newId, repositoryRoot } from '@acp/kernel';
import { git, GitError, gitText } from './git.ts';
import type { WorkspaceFolder } from './workspace-folder.ts';

export type CaptureConfig = Pick<
  Config,
  | 'home'
  | 'local_cli'
  | 'repository_max_size'
  | 'sandbox_cpu_limit'
  | 'sandbox_memory_limit'
  | 'sandbox_pids_limit'
>;

export interface Capture {
  repository: string;
  workspace_id: string;
  kind: 'repository' | 'folder';
  base_commit: string | null;
  /** Of the time before. */
  head_commit: string | null;
  /** Whether what is not committed becomes a commit of the branch. */
  commit: boolean;
  message: string;
  author: { name: string; email: string };
}

export interface Captured {
  /** Null: nothing was ever committed. */
  head: string | null;
  /** The files as they are. */
  work: string | null;
  size_bytes: number;
  /** Paths that were left out. */
  too_large: string[];
}

const TIME_SEC = 120;
const HASH = /^[0-9a-f]{40}$/;
/** Of files that no commit takes. */
const LARGEST_MB = 50;
const LOCAL_MS = 120_000;

/** Throws GitError, and what the signal says. */
export async function capture(
  config: CaptureConfig,
  place: WorkspaceFolder & { identity: string },
  what: Capture,
  { run_id, signal }: { run_id: string; signal: AbortSignal },
): Promise<Captured> {
  const out = join(place.folder, `out-${newId()}`);
  await mkdir(out, { mode: 0o700 });
  try {
    const end = await runShell(
      {
        command: [],
        home: out,
        cwd: place.tree,
        env: { ...environment(out, place, what), SERVICE_RUN_ID: run_id },
        timeout_sec: TIME_SEC,
        session: null,
        container: null,
        sandbox: await walls(config),
        workspace: {
          path: place.tree,
          identity: place.identity,
          readable: [join(what.repository, 'objects')],
        },
      },
      SCRIPT,
      signal,
    );
    if (end.timed_out) throw new GitError(`what lies in the folder could not be read in ${TIME_SEC} s`, null);
    if (end.code !== 0)
      throw new GitError(end.tail.trim().slice(-500) || 'the folder could not be read', end.code);
    return await takeOver(config, out, what, signal);
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

/** Without network. Throws GitError where there are no walls and the operator has not done without. */
async function walls(config: CaptureConfig): Promise<SandboxSpec | undefined> {
  const found = await findBubblewrap();
  if ('reason' in found) {
    // There programs have the scheduler's rights anyway.
    if (config.local_cli === 'host') return undefined;
    throw new GitError(`workspaces can’t be looked into: ${found.reason}; ${BUBBLEWRAP_MEND}`, null);
  }
  return {
    bubblewrap: found.file,
    readable: [],
    hidden: [config.home, repositoryRoot],
    reach: new Reach({ places: [] }),
    loopback: null,
    limits: {
      memory: config.sandbox_memory_limit,
      cpus: config.sandbox_cpu_limit,
      pids: config.sandbox_pids_limit,
    },
  };
}

function environment(out: string, { tree }: WorkspaceFolder, what: Capture): Record<string, string> {
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
    LARGEST: `+${LARGEST_MB}M`,
  };
}

/**
 * All that is asked of the agent's repository is what it stands at. The files are read by a repository of this one look, whose
 * configuration is nobody's: a filter that the agent's names could keep them from being seen. Objects go to the agent's, so
 * that it has the commit; the index is a copy, which knows which files have not changed. A `.git` that is gone or broken is done
 * without: the files are then compared with what is known.
 */
const SCRIPT = `
set -u
cd "$TREE" || exit 3
dir=
head=
if [ "$KIND" = repository ] && head=$(git rev-parse -q --verify 'HEAD^{commit}' 2> /dev/null); then
  dir=$(git rev-parse --absolute-git-dir)
  cp "$dir/index" "$OUT/index" 2> /dev/null || :
else
  head=$KNOWN
fi
git init -q --bare "$OUT/own.git" || exit 3
[ -z "$dir" ] || export GIT_OBJECT_DIRECTORY="$dir/objects"
export GIT_ALTERNATE_OBJECT_DIRECTORIES="$OBJECTS" GIT_DIR="$OUT/own.git" GIT_WORK_TREE="$TREE"
git config core.bare false
[ -z "$head" ] || git update-ref --no-deref HEAD "$head" || exit 3
export GIT_INDEX_FILE="$OUT/index"
find . -name .git -prune -o -type f -size "$LARGEST" -print 2> /dev/null | head -n 100 > "$OUT/large"
{ echo .; sed 's|^\\./|:(exclude,literal)|' "$OUT/large"; } | tr '\\n' '\\0' > "$OUT/paths"
git add -A --ignore-errors --pathspec-from-file="$OUT/paths" --pathspec-file-nul > "$OUT/add" 2>&1
# What can't be read is left out; anything worse would store the files as they were, or as gone.
[ $? -lt 128 ] || { tail -c 300 "$OUT/add"; exit 4; }
tree=$(git write-tree) || exit 4
work=$head
if [ -z "$head" ]; then
  [ "$tree" = 4b825dc642cb6eb9a060e54bf8d69288fbee4904 ] || work=$(printf '%s' "$MESSAGE" | git commit-tree "$tree") || exit 5
elif [ "$(git rev-parse "$head^{tree}")" != "$tree" ]; then
  work=$(printf '%s' "$MESSAGE" | git commit-tree "$tree" -p "$head") || exit 5
fi
if [ "$work" != "$head" ] && [ "$COMMIT" = yes ]; then
  if [ -n "$dir" ]; then
    git --git-dir="$dir" update-ref -m 'what the run left' HEAD "$work" "$head" && cp "$OUT/index" "$dir/index" && head=$work
  else
    head=$work
  fi
fi
{ echo "head=$head"; echo "work=$work"; echo "size=$(timeout 20 du -sk . 2> /dev/null | cut -f1)"; } > "$OUT/result"
[ -n "$work" ] && [ "$work" != "$BASE" ] || exit 0
git update-ref refs/service/work "$work" || exit 6
git bundle create -q "$OUT/bundle" refs/service/work \${BASE:+"^$BASE"} || exit 6
`;

/** Nothing that comes out is believed: hashes are hashes, and the bundle is what git makes of it. */
async function takeOver(
  config: CaptureConfig,
  out: string,
  { repository, workspace_id, base_commit }: Capture,
  signal: AbortSignal,
): Promise<Captured> {
  const told = new Map(
    (await boundedText(join(out, 'result')))
      .split('\n')
      .map((line) => line.split('=', 2) as [string, string]),
  );
  const head = hashIn(told.get('head'));
  const work = hashIn(told.get('work'));
  const refs = `refs/service/${workspace_id}`;
  if (work !== null && work !== base_commit) {
    const bundle = join(out, 'bundle');
    const found = await lstat(bundle).catch(() => null);
    if (found === null || !found.isFile()) throw new GitError('the folder gave no bundle', null);
    if (found.size > config.repository_max_size)
      throw new GitError('the changes are larger than what is kept', null);
    const args = [
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-write-fetch-head',
      bundle,
      `+refs/service/work:${refs}/work`,
    ];
    const env = { GIT_ALLOW_PROTOCOL: 'file' };
    const max_file = config.repository_max_size;
    await git({ cwd: repository, args, env, signal, timeout_ms: LOCAL_MS, max_file });
    const taken = await gitText({
      cwd: repository,
      args: ['rev-parse', '--verify', `${refs}/work^{commit}`],
      signal,
      timeout_ms: LOCAL_MS,
    });
    if (taken !== work) throw new GitError('the bundle is not what it was said to be', null);
  }
  if (head !== null && head !== work) await assertAncestor(repository, head, work ?? head, signal);
  for (const [name, commit] of [
    ['head', head],
    ['work', work],
    ['base', base_commit],
  ] as const)
    if (commit !== null)
      await git({
        cwd: repository,
        args: ['update-ref', `${refs}/${name}`, commit],
        signal,
        timeout_ms: LOCAL_MS,
      });
  const too_large = (await boundedText(join(out, 'large'))).split('\n').filter((path) => path !== '');
  const size = Number(told.get('size'));
  return { head, work, size_bytes: Number.isFinite(size) ? size * 1024 : 0, too_large };
}

async function assertAncestor(
  repository: string,
  head: string,
  work: string,
  signal: AbortSignal,
): Promise<void> {
  const args = ['merge-base', '--is-ancestor', head, work];
  await git({ cwd: repository, args, signal, timeout_ms: LOCAL_MS }).catch(() => {
    throw new GitError('the branch is not what it was said to be', null);
  });
}

const hashIn = (text: string | undefined): string | null =>
  text !== undefined && HASH.test(text) ? text : null;

const MOST_TEXT = 512 * 1024;

/** Empty where it is no file, or longer than it can be. */
async function boundedText(path: string): Promise<string> {
  const found = await lstat(path).catch(() => null);
  if (found === null || !found.isFile() || found.size > MOST_TEXT) return '';
  return readFile(path, 'utf8');
}
