/**
 * Runs git on the service's own repositories: no one else writes their configuration. In an agent's folder git only runs
 * inside the sandbox (`shut-in-git.ts`): programs named in its configuration would run as the scheduler.
 */
import { spawn } from 'node:child_process';
import type { FileHandle } from 'node:fs/promises';
import { bubblewrapLimits, pickEnvironment, storableText } from '@acp/kernel';

/** Git failed; the message is the end of its output, without secrets. */
export class GitError extends Error {
  readonly code: number | null;

  constructor(message: string, code: number | null) {
    super(message);
    this.name = 'GitError';
    this.code = code;
  }
}

export interface GitCall {
  cwd: string;
  args: readonly string[];
  signal: AbortSignal;
  timeout_ms: number;
  /** Added to the environment, which has nothing of the process's own but PATH. */
  env?: Record<string, string>;
  /** A file is read from the beginning, and stays open. */
  stdin?: string | FileHandle;
  /** Limit on standard output, in bytes; the rest is cut off. Default: 1 MiB. */
  max_bytes?: number;
  /** Largest file that git may write. */
  max_file?: number;
  /** Memory of each of its processes, in bytes. Default: what unpacking may need. */
  max_memory?: number;
  /** Removed from error messages. */
  secrets?: readonly string[];
}

export interface GitOutput {
  stdout: Buffer;
  /** There was more output. */
  cut: boolean;
}

const STDERR_KEPT = 4096;
const KEPT = 1024 * 1024;
const PROCESSES = 4096;
/** In bytes, per process: limits the memory for unpacking a pack that was crafted to be large. */
const MEMORY = 4 * 1024 ** 3;

/**
 * Defects for which objects are not refused: old programs wrote such dates and modes, and the histories of well-known
 * repositories are full of them.
 */
export const tolerated = ['badTimezone', 'missingSpaceBeforeDate', 'zeroPaddedFilemode'].map(
  (flaw) => `${flaw}=ignore`,
);

/** For everything outside the sandbox: no configuration but the repository's, no prompts, no foreign programs. */
const settings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.askPass=',
  'credential.helper=',
  'gc.auto=0',
  'maintenance.auto=false',
  'protocol.version=2',
  'http.followRedirects=false',
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=60',
  'fetch.fsckObjects=true',
  ...tolerated.map((flaw) => `fetch.fsck.${flaw}`),
  'fetch.unpackLimit=1',
  'fetch.writeCommitGraph=false',
  'transfer.bundleURI=false',
  'submodule.recurse=false',
  // Names that are `.git` on other platforms count as such here.
  'core.protectHFS=true',
  'core.protectNTFS=true',
  // Larger files are neither kept in memory nor compared.
  'core.bigFileThreshold=32m',
  'pack.threads=2',
  'pack.windowMemory=256m',
  'core.longpaths=true',
];

/** Overrides configuration files through the process's environment: neither among arguments nor in a file. */
export function gitConfiguration(pairs: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(pairs.length)],
    ...pairs.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]) as Record<string, string>;
}

export async function git(call: GitCall): Promise<GitOutput> {
  call.signal.throwIfAborted();
  const flags = settings.flatMap((setting) => ['-c', setting]);
  const limits = bubblewrapLimits({
    processes: PROCESSES,
    data_bytes: call.max_memory ?? MEMORY,
    ...(call.max_file === undefined ? {} : { file_bytes: call.max_file }),
  }).filter((word) => !word.startsWith('--nproc'));
  const [program = 'git', ...args] = [...limits, 'git', ...flags, ...call.args];
  const child = spawn(program, args, {
    cwd: call.cwd,
    detached: true,
    stdio: [typeof call.stdin === 'object' ? call.stdin.fd : 'pipe', 'pipe', 'pipe'],
    env: { ...pickEnvironment(['PATH']), ...quiet, ...call.env },
  });
  const kill = () => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has already exited.
    }
  };
  let timed_out = false;
  const timer = setTimeout(() => {
    timed_out = true;
    kill();
  }, call.timeout_ms);
  call.signal.addEventListener('abort', kill, { once: true });
  try {
    return await outputOf(child, call, kill);
  } catch (err) {
    // A killed process does not say why.
    call.signal.throwIfAborted();
    if (timed_out) throw new GitError(`git did not end within ${Math.round(call.timeout_ms / 1000)} s`, null);
    throw err;
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener('abort', kill);
  }
}

/** Returns standard output as text, without the trailing newline. */
export async function gitText(call: GitCall): Promise<string> {
  return (await git(call)).stdout.toString('utf8').trim();
}

const quiet = {
  LANG: 'C',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'https:http:ssh',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
};

async function outputOf(
  child: ReturnType<typeof spawn>,
  { args, max_bytes = KEPT, stdin = '', secrets = [] }: GitCall,
  kill: () => void,
): Promise<GitOutput> {
  const chunks: Buffer[] = [];
  let size = 0;
  let cut = false;
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    if (cut) return;
    chunks.push(chunk.subarray(0, max_bytes - size));
    size += chunk.length;
    if (size <= max_bytes) return;
    cut = true;
    kill();
  });
  child.stderr
    ?.setEncoding('utf8')
    .on('data', (text: string) => (stderr = (stderr + text).slice(-STDERR_KEPT)));
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(typeof stdin === 'string' ? stdin : '');
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (err) => reject(new GitError(`git could not be started: ${err.message}`, null)));
    child.once('close', (status) => resolve(status));
  });
  if (code !== 0 && !cut)
    throw new GitError(lastWords(stderr, secrets) || `git ${args[0] ?? ''} was ended`, code);
  return { stdout: Buffer.concat(chunks), cut };
}

/** Printed by git after every failure of ssh. */
const phrases = ['Please make sure you have the correct access rights', 'and the repository exists.'];

function lastWords(stderr: string, secrets: readonly string[]): string {
  const lines = stderr
    .split('\n')
    .map((line) => storableText(line.replaceAll(/\p{Cc}/gu, ' ')).trim())
    .filter((line) => line !== '' && !line.startsWith('hint:') && !phrases.includes(line));
  const said = lines.slice(-5).join('; ');
  // The password of a login may be empty: between any two characters, nothing is to be removed.
  return secrets
    .filter((secret) => secret !== '')
    .reduce((text, secret) => text.replaceAll(secret, '[redacted]'), said);
}
