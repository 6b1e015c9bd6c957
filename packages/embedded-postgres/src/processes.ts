import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** A process as the kernel tells it. `started` (clock ticks since boot) tells a recycled pid from the one meant. */
export interface ProcessState {
  pid: number;
  name: string;
  started: string;
}

const POLL_MS = 20;

/** Undefined for a process that is gone, and for a zombie, which only waits for a parent that may never ask. */
export async function runningProcess(pid: number): Promise<ProcessState | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // The name stands in brackets and may itself hold brackets and spaces (proc(5)).
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

/** The PostgreSQL processes working in `folder`: a postmaster and its backends all have their data folder as cwd. */
export async function postgresProcessesIn(folder: string): Promise<ProcessState[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: ProcessState[] = [];
  for (const pid of pids) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
    if (cwd !== folder) continue;
    const state = await runningProcess(pid);
    if (state?.name === 'postgres') found.push(state);
  }
  return found;
}

/** False when `condition` has not come true within the time. */
export async function pollUntil(condition: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

/** Nothing to do where the process has just gone. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (err) {
    if (!(err instanceof Error && 'code' in err && err.code === 'ESRCH')) throw err;
  }
}
