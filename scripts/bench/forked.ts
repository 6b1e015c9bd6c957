/** Modules of the benchmark as separate processes, which exit with it. */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

export interface Forked {
  child: ChildProcess;
  /** Its first message. */
  greeting: string;
  stop(): Promise<void>;
}

/** @param module file in this folder; it sends a message once it is ready, and exits when its channel closes */
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
      // It exited by itself; its users have noticed.
      if (!child.connected) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}
