import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '@acp/kernel';

const RETRY_MS = 25;
// Longer than the crash recovery of a small instance; otherwise waiting processes would give up before the server is up.
const PATIENCE_MS = 330_000;

/**
 * Runs `work` while no other process starts or stops the server of `folder`. The lock is a name in Linux's abstract socket
 * namespace: the kernel releases it when its owner dies, however it dies, so unlike a file it can't become stale.
 */
export async function withFolderLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const name = `\0acp-postgres-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}`;
  const deadline = performance.now() + PATIENCE_MS;
  let holder = await tryLock(name);
  while (holder === undefined) {
    if (performance.now() > deadline)
      throw unavailable(`another process has kept PostgreSQL in ${folder} locked for too long`);
    await delay(RETRY_MS);
    holder = await tryLock(name);
  }
  const held = holder;
  try {
    return await work();
  } finally {
    await new Promise((resolve) => held.close(resolve));
  }
}

async function tryLock(name: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', (err: NodeJS.ErrnoException) =>
      err.code === 'EADDRINUSE' ? resolve(undefined) : reject(err),
    );
    server.listen({ path: name, exclusive: true }, () => resolve(server));
  });
}
