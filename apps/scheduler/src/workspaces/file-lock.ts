/**
 * Locks between processes of one machine, for schedulers that share a SERVICE_HOME. The kernel keeps them, for a process that
 * lives for as long as our end of its input: however we end, it ends, and the lock with it. Node itself has no such call.
 */
import { spawn } from 'node:child_process';
import { findProgram, pickEnvironment } from '@acp/kernel';

export interface FileLock {
  release(): Promise<void>;
}

const alone: FileLock = { release: async () => undefined };

/**
 * @param wait_ms null: for as long as it takes
 * @returns null: it is in other hands. Where the platform has no `flock`, one process alone is taken for granted.
 */
export async function lockFile(
  path: string,
  { wait_ms, signal }: { wait_ms: number | null; signal: AbortSignal },
): Promise<FileLock | null> {
  signal.throwIfAborted();
  const flock = findProgram('flock');
  if (flock === undefined) return alone;
  const wait = wait_ms === null ? [] : ['--timeout', String(wait_ms / 1000)];
  const holder = spawn(flock, [...wait, '--no-fork', path, 'sh', '-c', 'echo held; exec cat > /dev/null'], {
    // A Ctrl-C at the terminal is for the scheduler to deal with.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: pickEnvironment(['PATH']),
  });
  const ended = new Promise<void>((resolve) => {
    holder.once('close', () => resolve());
    holder.once('error', () => resolve());
  });
  holder.stdin.on('error', () => undefined);
  const release = async () => {
    holder.stdin.end();
    await ended;
  };
  const stop = () => holder.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const held = await Promise.race([
      new Promise<true>((resolve) => holder.stdout.once('data', () => resolve(true))),
      ended.then(() => false as const),
    ]);
    if (held) return { release };
    signal.throwIfAborted();
    return null;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
