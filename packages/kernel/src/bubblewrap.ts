/** Bubblewrap, which shuts programs in on this machine: where it is, and whether the machine lets it work. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { release } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { pickEnvironment } from './config.ts';

const run = promisify(execFile);
const TRIAL_MS = 10_000;
const TRIED_MS = 10 * 60_000;

/** Namespaces of its own for everything, no rights, and an end with whoever started it. */
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

/** The file behind a program's name, or behind its path; undefined where none may be executed. */
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
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * A /proc of its own, without a way to set anything of the kernel. Bubblewrap covers what may be written, but does not see
 * that root, though without rights, may write settings that are its own. The covers also keep namespaces made within from
 * mounting a fresh one.
 */
export function bubblewrapProc(): string[] {
  const covered = ['sys', 'sysrq-trigger', 'irq', 'bus', 'acpi', 'scsi', 'fs'].map((name) => `/proc/${name}`);
  return [
    '--proc',
    '/proc',
    ...covered.filter((path) => existsSync(path)).flatMap((path) => ['--ro-bind', path, path]),
  ];
}

/** What a sandbox begins with: the walls, a /proc and a /dev of its own, a /tmp of so many bytes. */
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
 * What comes before a command within the walls: limits that the kernel holds for each process, and for their number.
 * Processes are counted per user namespace since Linux 5.14; before, the limit would count those of the whole user. Memory
 * has to be watched from outside, for no limit of a process knows of the others.
 */
export function bubblewrapLimits(limits: {
  processes: number;
  file_bytes?: number;
  open_files?: number;
  /** What it may hold in memory, files that it maps not counted. */
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

/** Whether the kernel counts processes for each sandbox by itself, and there is a program to say how many. */
export const limitsProcesses = (): boolean => countsProcesses() && findProgram('prlimit') !== undefined;

function countsProcesses(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

/** When a trial went well last, by its file. */
const worked = new Map<string, number>();

/**
 * Its file, or why it can't be used here: tried, since many machines forbid what it needs. What worked is not tried again for
 * some minutes, for each run would wait for it; a machine that has come to forbid it says so when it is used.
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
