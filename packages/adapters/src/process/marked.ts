import { setTimeout as delay } from 'node:timers/promises';
import { ofEachProcess } from './process-files.ts';

/** Inherited by every process started by a run, whatever session or group it moves to. */
const MARK = 'SERVICE_RUN_ID=';

interface MarkedProcess {
  pid: number;
  run_id: string;
}

/**
 * Finds the processes on this machine that belong to runs, by their environment. Without root, other users' processes are
 * invisible, and without /proc all are. Zombies no longer have an environment.
 */
export async function markedProcesses(): Promise<MarkedProcess[]> {
  return ofEachProcess('environ', (environment, pid) => {
    const at = `\0${environment}`.indexOf(`\0${MARK}`);
    if (at === -1 || pid === process.pid) return undefined;
    const [run_id = ''] = environment.slice(at + MARK.length).split('\0', 1);
    return { pid, run_id };
  });
}

// A process may fork between the scan and the signal; each round leaves fewer that could.
const ROUNDS = 20;
const ROUND_PAUSE_MS = 10;

/** Kills every process of the run immediately. Resolves when none that can be killed is left. */
export async function killMarked(run_id: string): Promise<number> {
  const killed = new Set<number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const left = (await markedProcesses()).filter((each) => each.run_id === run_id);
    if (left.length === 0) break;
    for (const { pid } of left) {
      sendSignal(pid, 'SIGKILL');
      killed.add(pid);
    }
    await delay(ROUND_PAUSE_MS);
  }
  return killed.size;
}

/** @param pid negative: the process group. Returns false if there is no such process any more. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
