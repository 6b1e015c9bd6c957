/** Plain JavaScript for Node.js 20: what installs Node.js 24 uses it, too. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:net';

const LOOK_EVERY_MS = 100;

/**
 * Runs `work` while no other process of this machine runs work of that name. The lock is a name in Linux's abstract socket
 * namespace, which the kernel frees when its owner exits; other systems go without.
 * @param {string} name
 * @param {() => Promise<void>} work
 */
export async function oneAtATime(name, work) {
  if (process.platform !== 'linux') return work();
  const address = `\0acp-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
  const tryLock = () =>
    new Promise((resolve, reject) => {
      const server = createServer((socket) => socket.destroy());
      server.once('error', (err) =>
        'code' in err && err.code === 'EADDRINUSE' ? resolve(undefined) : reject(err),
      );
      server.listen(address, () => resolve(server));
    });
  let held = await tryLock();
  while (held === undefined) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    held = await tryLock();
  }
  try {
    await work();
  } finally {
    held.close();
  }
}
