import { type Context, createContext, Script } from 'node:vm';

/** Made on first use: a context takes a megabyte, and most processes need none. */
let made: { place: Context & { work?: unknown }; script: Script } | undefined;
const make = () => ({ place: createContext(), script: new Script('work()') });

/**
 * Ends work that takes longer: V8 can interrupt whatever it does, regular expressions too. The limit is wall-clock time: if the machine
 * gave this thread no CPU in the meantime, the work is not to blame and is retried.
 * @throws an error that `isOverTime`
 */
export function withinTime<T>(limit_ms: number, work: () => T, attempts = 3): T {
  const { place, script } = (made ??= make());
  const before = process.threadCpuUsage();
  place.work = work;
  try {
    return script.runInContext(place, { timeout: limit_ms }) as T;
  } catch (err) {
    const { user, system } = process.threadCpuUsage(before);
    const isBusy = (user + system) / 1000 > limit_ms / 2;
    if (!isOverTime(err) || isBusy || attempts === 1) throw err;
    return withinTime(limit_ms, work, attempts - 1);
  } finally {
    place.work = undefined;
  }
}

export const isOverTime = (err: unknown): boolean =>
  (err as { code?: unknown } | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
