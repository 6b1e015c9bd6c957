/** Modules of the benchmark as processes of their own, which end with it. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

export interface Forked {
  child: ChildProcess;
  /** What it said first. */
  greeting: string;
  stop(): Promise<void>;
}

/** @param module file beside this one; it says something once it is ready, and ends when its channel does. */
export async function forkModule(module: string, args: readonly string[] = []): Promise<Forked> {
  const child = fork(path.join(import.meta.dirname, module), args, { execArgv: [] });
  const failed = once(child, 'exit').then(([code, signal]) => {
    if (code !== 0) console.error(`${module} ended with ${signal ?? code}`);
    throw new Error(`${module} ended before it was ready`);
  });
  const greeting = await Promise.race([once(child, 'message').then(([message]) => String(message)), failed]);
  failed.catch(() => undefined);
  return {
    child,
    greeting,
    async stop() {
      // Ended by itself: whoever talked to it has noticed.
      if (!child.connected) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}
