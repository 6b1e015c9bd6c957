/** Computes the difference of two commits in the service's own repository: no filter, driver or other program runs. */
import { cutText, storableText } from '@acp/kernel';
import type { ChangedFile, CommitFacts } from '@acp/core';
import { git, type GitOutput } from './git.ts';

/** Git knows it even where it is not stored. */
export const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

const MOST_FILES = 2000;
const MOST_COMMITS = 500;
/** In bytes: of one file's diff, and of all that are kept. */
const PATCH = 256 * 1024;
const PATCHES = 4 * 1024 * 1024;
const TIME_MS = 60_000;
/** In characters, for names among arguments. */
const MOST_PATHS = 100_000;
/** Limit at which git's output is cut off. */
const OUTPUT = 32 * 1024 * 1024;
/** A few trees that contain each other are a thousand million files, all of which git would list in memory. */
const MEMORY = 1024 ** 3;

export interface Changes {
  files: ChangedFile[];
  file_count: number;
  additions: number;
  deletions: number;
  /** More has changed than is listed. */
  truncated: boolean;
}

const options = [
  '--no-color',
  '--no-ext-diff',
  '--no-textconv',
  '--find-renames',
  '-l400',
  '--ignore-submodules=none',
];

export async function changesBetween(
  repository: string,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<Changes> {
  if (from === to) return { files: [], file_count: 0, additions: 0, deletions: 0, truncated: false };
  const diff = async (args: string[], paths: string[] = []) => {
    const all = ['diff', ...options, ...args, from, to, '--', ...paths];
    return git({
      cwd: repository,
      args: all,
      signal,
      timeout_ms: TIME_MS,
      max_bytes: OUTPUT,
      max_memory: MEMORY,
    });
  };
  const listed = await diff(['--raw', '--numstat', '-z', '--abbrev=40']);
  const all = readList(listed.stdout);
  const files = all.slice(0, MOST_FILES);
  const written = await diff(['--patch', '--unified=3', '--full-index'], leaveOut(files));
  const hunks = hunksIn(written);
  let room = PATCHES;
  const shown = files.map(({ contents, ...file }): ChangedFile => {
    const whole = file.binary ? null : patchOf(file, contents, hunks);
    const cut = whole === null || room <= 0 ? null : cutText(whole, Math.min(PATCH, room));
    room -= cut === null ? 0 : Buffer.byteLength(cut);
    const hasPatch = file.additions + file.deletions > 0 && !file.binary;
    const complete = cut !== null && cut.length === whole?.length;
    return { ...file, patch: cut === '' ? null : cut, patch_truncated: hasPatch && !complete };
  });
  return {
    files: shown,
    file_count: all.length,
    additions: all.reduce((sum, { additions }) => sum + additions, 0),
    deletions: all.reduce((sum, { deletions }) => sum + deletions, 0),
    truncated: listed.cut || all.length > files.length,
  };
}

interface Listed extends Omit<ChangedFile, 'patch' | 'patch_truncated'> {
  /** Hashes of its content before and after. */
  contents: readonly [string, string];
}

const statuses: Record<string, ChangedFile['status']> = {
  A: 'added',
  C: 'added',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  T: 'type_changed',
};

/** Parses the output: first all `:modes hashes status`, each followed by its names, then the counts in the same order. */
function readList(bytes: Buffer): Listed[] {
  const words = bytes.toString('utf8').split('\0');
  const files: Listed[] = [];
  let at = 0;
  while (words[at]?.startsWith(':')) {
    const [, , before = '', after = '', word = ''] = words[at]!.split(' ');
    const status = word.slice(0, 1);
    const two = status === 'R' || status === 'C';
    const path = storableText(words[at + (two ? 2 : 1)] ?? '');
    const old_path = status === 'R' ? storableText(words[at + 1] ?? '') : null;
    files.push({
      path,
      old_path,
      status: statuses[status] ?? 'modified',
      additions: 0,
      deletions: 0,
      binary: false,
      contents: [before, after],
    });
    at += two ? 3 : 2;
  }
  for (const file of files) {
    const [added = '0', deleted = '0', name = ''] = (words[at] ?? '').split('\t');
    file.binary = added === '-';
    file.additions = Number(added) || 0;
    file.deletions = Number(deleted) || 0;
    at += name === '' ? 3 : 1;
  }
  return files;
}

/**
 * Pathspecs that exclude binary files from the second call, for which git would unpack each only to say that they differ. A name
 * that was not decoded exactly can't be used to exclude its file.
 */
function leaveOut(files: readonly Listed[]): string[] {
  const paths: string[] = [];
  let room = MOST_PATHS;
  for (const file of files) {
    const names = [file.path, ...(file.old_path === null ? [] : [file.old_path])];
    room -= file.binary ? names.join('').length : 0;
    if (!file.binary || room < 0 || names.some((name) => name.includes('\uFFFD'))) continue;
    paths.push(...names.map((name) => `:(exclude,literal)${name}`));
  }
  return paths.length === 0 ? [] : ['.', ...paths];
}

const NOTHING = '0'.repeat(40);
const keyOf = (before: string, after: string): string => `${before}..${after}`;

/** Git writes two patches for a file that became a link, or stopped being one. */
function patchOf(
  { status }: Pick<Listed, 'status'>,
  [before, after]: Listed['contents'],
  hunks: ReadonlyMap<string, string>,
): string | null {
  const pairs =
    status === 'type_changed' ? [keyOf(before, NOTHING), keyOf(NOTHING, after)] : [keyOf(before, after)];
  const own = pairs.flatMap((pair) => hunks.get(pair) ?? []);
  return own.length === 0 ? null : own.join('');
}

/**
 * Returns the hunks between two contents. Their order says nothing: git may find other renames once some files are excluded. Lines
 * of files begin with a sign, so a header is always a header; but only where git begins a line: `^` also follows a carriage
 * return, by which a file could contain another's header.
 */
function hunksIn({ stdout, cut }: GitOutput): Map<string, string> {
  const parts = storableText(stdout.toString('utf8'))
    .split(/(?<![^\n])diff --git /)
    .slice(1, cut ? -1 : undefined);
  const hunks = new Map<string, string>();
  for (const part of parts) {
    const begin = part.search(/(?<![^\n])@@ /);
    const pair = /\nindex ([0-9a-f]{40}\.\.[0-9a-f]{40})/.exec(begin === -1 ? '' : part.slice(0, begin));
    if (pair !== null) hunks.set(pair[1]!, part.slice(begin));
  }
  return hunks;
}

/** Newest first. */
export async function commitsBetween(
  repository: string,
  from: string | null,
  to: string,
  signal: AbortSignal,
): Promise<{ commits: CommitFacts[]; count: number }> {
  const range = from === null ? [to] : [to, `^${from}`];
  const format = '--format=%H%x00%an%x00%cI%x00%s%x00';
  const args = [
    'log',
    '--no-color',
    '--no-show-signature',
    format,
    `--max-count=${MOST_COMMITS}`,
    ...range,
    '--',
  ];
  const { stdout, cut } = await git({
    cwd: repository,
    args,
    signal,
    timeout_ms: TIME_MS,
    max_bytes: 4 * 1024 * 1024,
  });
  const words = stdout.toString('utf8').split('\0');
  const commits: CommitFacts[] = [];
  for (let at = 0; at + 3 < words.length; at += 4) {
    const [sha = '', author = '', when = '', subject = ''] = words.slice(at, at + 4);
    const committed_at = new Date(when);
    commits.push({
      sha: sha.trim(),
      author_name: cutText(storableText(author), 200),
      subject: cutText(storableText(subject), 500),
      committed_at: Number.isNaN(committed_at.getTime()) ? null : committed_at.toISOString(),
    });
  }
  if (!cut && commits.length < MOST_COMMITS) return { commits, count: commits.length };
  const counting = ['rev-list', '--count', ...range, '--'];
  const counted = await git({ cwd: repository, args: counting, signal, timeout_ms: TIME_MS });
  return { commits, count: Number(counted.stdout.toString('utf8').trim()) || commits.length };
}
