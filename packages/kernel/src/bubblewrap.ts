/** Bubblewrap, the sandbox for programs on this machine: where it is, and whether it works here. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { release } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { pickEnvironment } from './config.ts';

const run = promisify(execFile);
const TRIAL_MS = 10_000;
const TRIED_MS = 10 * 60_000;

/** Its own namespaces for everything, no capabilities, and it dies with the process that started it. */
export const bubblewrapWalls: readonly string[] = [
  '--unshare-all',
  '--unshare-user',
  '--die-with-parent',
  '--new-session',
  '--cap-drop',
  'ALL',
];

export const BUBBLEWRAP_MEND =
  'install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap) where the schedulers run, and let it use user namespaces';

/** The executable for a program name or path; undefined if there is none. */
export function findProgram(name: string, search = pickEnvironment(['PATH']).PATH ?? ''): string | undefined {
  const places = name.includes('/')
    ? [name]
    : search
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => join(folder, name));
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      // Folders are "executable" too.
      return statSync(place).isFile();
    } catch {
      return false;
    }
  });
}

/**
 * A /proc of its own in which no kernel setting can be written. Bubblewrap covers the writable entries, but it can't know
 * that root, even without capabilities, may write settings it owns. The covers also stop nested namespaces from mounting a
 * fresh /proc.
 */
export function bubblewrapProc(): string[] {
  const covered = ['sys', 'sysrq-trigger', 'irq', 'bus', 'acpi', 'scsi', 'fs'].map((name) => `/proc/${name}`);
  return [
    '--proc',
    '/proc',
    ...covered.filter((path) => existsSync(path)).flatMap((path) => ['--ro-bind', path, path]),
  ];
}

/** The base of every sandbox: the walls, its own /proc and /dev, and a /tmp of limited size. */
export function bubblewrapGround({
  hostname,
  temp_bytes,
}: {
  hostname: string;
  temp_bytes: number;
}): string[] {
  const temporary = ['--size', String(temp_bytes), '--tmpfs', '/tmp'];
  return [...bubblewrapWalls, '--hostname', hostname, ...bubblewrapProc(), '--dev', '/dev', ...temporary];
}

/**
 * Prefix for a command inside the sandbox: per-process limits enforced by the kernel, and a limit on the number of
 * processes. Since Linux 5.14 processes are counted per user namespace; before that the limit would count all of the user's
 * processes. Memory must be watched from outside, because no per-process limit covers a whole tree.
 */
export function bubblewrapLimits(limits: {
  processes: number;
  file_bytes?: number;
  open_files?: number;
  /** Maximum data memory in bytes; file mappings don't count. */
  data_bytes?: number;
}): string[] {
  const prlimit = findProgram('prlimit');
  if (prlimit === undefined) return [];
  return [
    prlimit,
    '--core=0',
    ...(limits.open_files === undefined ? [] : [`--nofile=${limits.open_files}`]),
    ...(limits.data_bytes === undefined ? [] : [`--data=${limits.data_bytes}`]),
    ...(limits.file_bytes === undefined ? [] : [`--fsize=${limits.file_bytes}`]),
    ...(countsProcesses() ? [`--nproc=${limits.processes}`] : []),
    '--',
  ];
}

/** Whether the kernel counts processes per sandbox and `prlimit` is available to set the limit. */
export const limitsProcesses = (): boolean => countsProcesses() && findProgram('prlimit') !== undefined;

function countsProcesses(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

/** Time of the last successful trial, by executable. */
const worked = new Map<string, number>();

/**
 * The executable, or the reason why it can't be used here. It is tried out, since many machines forbid what it needs. A
 * success is cached for a few minutes, as every run would otherwise wait for the trial; if the machine forbids it later, the
 * run itself fails with that.
 */
export async function findBubblewrap(): Promise<{ file: string } | { reason: string }> {
  const file = findProgram('bwrap');
  if (file === undefined) return { reason: 'bubblewrap (bwrap) is not installed' };
  const now = performance.now();
  if (now - (worked.get(file) ?? -Infinity) < TRIED_MS) return { file };
  try {
    const trial = [...bubblewrapWalls, '--ro-bind', '/', '/', ...bubblewrapProc(), '--dev', '/dev', 'true'];
    await run(file, trial, { timeout: TRIAL_MS });
    worked.set(file, now);
    return { file };
  } catch (err) {
    const said = err instanceof Error && 'stderr' in err ? String(err.stderr).trim() : String(err);
    return { reason: `bubblewrap does not work here: ${said.slice(0, 300)}` };
  }
}
