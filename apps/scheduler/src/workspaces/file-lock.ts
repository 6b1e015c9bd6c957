/**
 * Locks between processes of one machine, for schedulers that share a SERVICE_HOME. The kernel keeps a lock for as long as
 * we have the file open, however we terminate. Node has no such call, so `flock` acquires it on the file it inherits.
 */
import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { findProgram, pickEnvironment } from '@acp/kernel';

export interface FileLock {
  release(): Promise<void>;
}

const alone: FileLock = { release: async () => undefined };
/** File descriptor of the file in the child. */
const FD = 3;

/**
 * @param wait_ms null: no limit
 * @returns null: someone else has it. On a platform without `flock`, a single process is assumed.
 */
export async function lockFile(
  path: string,
  { wait_ms, signal }: { wait_ms: number | null; signal: AbortSignal },
): Promise<FileLock | null> {
  signal.throwIfAborted();
  const flock = findProgram('flock');
  if (flock === undefined) return alone;
  const file = await open(path, 'a', 0o600);
  const wait = wait_ms === null ? [] : ['--timeout', String(wait_ms / 1000)];
  if (!signal.aborted && (await isTaken(flock, [...wait, String(FD)], file.fd, signal)))
    return { release: async () => file.close() };
  await file.close();
  signal.throwIfAborted();
  return null;
}

async function isTaken(flock: string, args: string[], fd: number, signal: AbortSignal): Promise<boolean> {
  const asked = spawn(flock, args, {
    // A Ctrl-C at the terminal is for the scheduler to handle.
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', fd],
    env: pickEnvironment(['PATH']),
  });
  const stop = () => asked.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await new Promise((resolve) => {
      asked.once('close', (code) => resolve(code === 0));
      asked.once('error', () => resolve(false));
    });
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
