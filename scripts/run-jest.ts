import { spawn } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const bin = path.join(root, 'node_modules/.bin');

/** Jest in a process of its own, in the repository's root; whoever interrupts this one means it. @returns its exit code */
export function runJest(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  const child = spawn(path.join(bin, 'jest'), args, {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      // The launchers of the tools ask for `node` by name, and the system's own may be too old.
      PATH: [bin, process.env.PATH].filter(Boolean).join(path.delimiter),
      ...env,
    },
  });
  const forward = (signal: NodeJS.Signals): boolean => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, forward);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, forward);
      resolve(code ?? 1);
    });
  });
}
