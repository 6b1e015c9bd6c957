import { AdapterError } from '../adapter-error.ts';
import type { ProgramSpec } from '../task.ts';
import { programCall } from './program-call.ts';
import { runProgram } from './run-program.ts';
import { TimeLimit } from './time-limit.ts';

export interface ShellEnd {
  /** Null where a signal ended it. */
  code: number | null;
  timed_out: boolean;
  /** The last of what it wrote, both streams, line by line as they came. */
  tail: string;
}

/** In characters. */
const TAIL_KEPT = 20_000;

/**
 * Runs lines of a shell where the agent's program runs and as it does: same walls, same environment, same folders. No
 * process of it is left behind. @param onLine each line as it comes. Throws AdapterError `config` where it can't be started,
 * and what ended it from outside.
 */
export async function runShell(
  program: ProgramSpec,
  script: string,
  signal: AbortSignal,
  onLine: (line: string) => void = () => undefined,
): Promise<ShellEnd> {
  const limit = new TimeLimit(signal, program.timeout_sec);
  // By a variable: an argument is shown to the whole machine, and a path among arguments is shown to the program.
  const env = { ...program.env, SERVICE_SCRIPT: script };
  const command = ['/bin/sh', '-c', 'exec 2>&1; eval "$SERVICE_SCRIPT"'];
  let tail = '';
  try {
    const lines = runProgram(programCall({ ...program, env }, command, ''), limit.signal);
    for (let next = await lines.next(); ; next = await lines.next()) {
      if (next.done !== true) {
        const line = next.value ?? '[a line that was too long]';
        tail = `${tail}${line}\n`.slice(-TAIL_KEPT);
        onLine(line);
        continue;
      }
      signal.throwIfAborted();
      const { code, too_much } = next.value;
      const timed_out = limit.signal.aborted;
      return { code, timed_out, tail: too_much === undefined ? tail : `${tail}[${too_much}]\n` };
    }
  } catch (err) {
    if (signal.aborted || !limit.signal.aborted) throw err;
    if (err instanceof AdapterError && err.category === 'config') throw err;
    return { code: null, timed_out: true, tail };
  } finally {
    limit.close();
  }
}
