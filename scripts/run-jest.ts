import { spawn } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const bin = path.join(root, 'node_modules/.bin');

/** Runs jest as a child process in the repository's root; interrupts are passed on. @returns its exit code */
export function runJest(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  const child = spawn(path.join(bin, 'jest'), args, {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      // The tools' launchers look up `node` by name, and the system's own may be too old.
      PATH: [bin, process.env.PATH].filter(Boolean).join(path.delimiter),
      // Otherwise each of jest's processes would compile jest anew: a second of processor time.
      NODE_COMPILE_CACHE: path.join(root, '.build/compile-cache'),
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
