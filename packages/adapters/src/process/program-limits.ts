import type { ProgramLimits } from '../task.ts';
import { ProcessorShare } from './processor-share.ts';
import { memoryBytes, tooMuch, usageBelow } from './tree-usage.ts';

const WATCH_MS = 1000;

/**
 * Watches a process tree for limits that no control group enforces: excess CPU time is throttled, and any other excess is
 * reported once to the caller, which ends the program.
 * @returns a function that stops the watch
 */
export function watchProgram(
  pid: number,
  { memory, cpus, pids }: ProgramLimits,
  onTooMuch: (reason: string) => void,
): () => void {
  const share = new ProcessorShare(cpus);
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    clearInterval(timer);
    share.close();
  };
  const look = async (): Promise<void> => {
    const usage = (await usageBelow([pid], memoryBytes(memory))).get(pid);
    if (isOver || usage === undefined) return;
    const reason = tooMuch(usage, memory, pids);
    if (reason === undefined) share.look(pid, usage);
    else {
      end();
      onTooMuch(reason);
    }
  };
  const timer = setInterval(() => void look(), WATCH_MS).unref();
  return end;
}
