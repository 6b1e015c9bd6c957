import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** A process as seen by the kernel. `started` (clock ticks since boot) distinguishes it from a reused pid. */
export interface ProcessState {
  pid: number;
  name: string;
  started: string;
}

const POLL_MS = 20;

/** Undefined for a process that is gone, and for a zombie, whose parent may never reap it. */
export async function runningProcess(pid: number): Promise<ProcessState | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // The name is in parentheses and may itself contain parentheses and spaces (proc(5)).
  const nameEnd = stat.lastIndexOf(')');
  const fields = stat.slice(nameEnd + 2).split(' ');
  const [state] = fields;
  const started = fields[19];
  if (state === undefined || started === undefined || 'ZXx'.includes(state)) return undefined;
  return { pid, name: stat.slice(stat.indexOf('(') + 1, nameEnd), started };
}

export async function isStillRunning({ pid, started }: { pid: number; started: string }): Promise<boolean> {
  return (await runningProcess(pid))?.started === started;
}

/** Of a server, and of what creates its data. */
const PROGRAMS = ['postgres', 'initdb'];

/** The PostgreSQL processes working in `folder`: a postmaster and its backends have their data folder as cwd. */
export async function postgresProcessesIn(folder: string): Promise<ProcessState[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: ProcessState[] = [];
  for (const pid of pids) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
    if (cwd !== folder) continue;
    const state = await runningProcess(pid);
    if (state !== undefined && PROGRAMS.includes(state.name)) found.push(state);
  }
  return found;
}

/** Returns false if `condition` is still not met at the timeout. */
export async function pollUntil(condition: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

/** Does nothing if the process has just exited. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (err) {
    if (!(err instanceof Error && 'code' in err && err.code === 'ESRCH')) throw err;
  }
}
