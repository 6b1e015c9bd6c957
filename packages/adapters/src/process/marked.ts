import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

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
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map(async (pid) => ({ pid, run_id: await markOf(pid) })));
  return found.flatMap(({ pid, run_id }) =>
    run_id === undefined || pid === process.pid ? [] : [{ pid, run_id }],
  );
}

async function markOf(pid: number): Promise<string | undefined> {
  let environment: string;
  try {
    environment = await readFile(`/proc/${pid}/environ`, 'latin1');
  } catch {
    // Exited in the meantime, or not visible to us.
    return undefined;
  }
  const at = `\0${environment}`.indexOf(`\0${MARK}`);
  return at === -1 ? undefined : environment.slice(at + MARK.length).split('\0', 1)[0];
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
