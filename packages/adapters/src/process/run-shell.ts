import { AdapterError } from '../adapter-error.ts';
import type { ProgramSpec } from '../task.ts';
import { programCall } from './program-call.ts';
import { runProgram } from './run-program.ts';
import { TimeLimit } from './time-limit.ts';

interface ShellEnd {
  /** Null if a signal ended it. */
  code: number | null;
  timed_out: boolean;
  /** The end of its output, stdout and stderr interleaved by line. */
  tail: string;
}

/** In characters. */
const TAIL_KEPT = 20_000;

/**
 * Runs shell commands in the same environment, folders and confinement as the agent's program. No process is left behind.
 * @param onLine called with each line. Throws AdapterError `config` if it can't be started, and the reason if it was ended
 * from outside.
 */
export async function runShell(
  program: ProgramSpec,
  script: string,
  signal: AbortSignal,
  onLine: (line: string) => void = () => undefined,
): Promise<ShellEnd> {
  // Passed in a variable: arguments are visible to the whole machine, and paths in arguments are made visible to the program.
  const env = { ...program.env, SERVICE_SCRIPT: script };
  const command = ['/bin/sh', '-c', 'exec 2>&1; eval "$SERVICE_SCRIPT"'];
  let tail = '';
  const call = programCall({ ...program, env }, command, '');
  const limit = new TimeLimit(signal, program.timeout_sec);
  const lines = runProgram(call, limit.signal);
  try {
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
    // Ends what still runs, if its output could not be taken.
    await lines.return({ code: null, signal: null, stderr: '' });
    limit.close();
  }
}
