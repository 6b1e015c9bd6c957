import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const LOWEST = 20_000;

/** Where the ports begin that the system gives to whoever asks for any. */
function begin(): number {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  } catch {
    return 32_768;
  }
}

/**
 * For programs that can't report which port they chose, or that come back on the same one. It is below those that the system
 * gives away: until the program listens, another test's connection could be given one of them.
 */
export async function freePort(): Promise<number> {
  const above = Math.max(begin(), LOWEST + 1000);
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (above - LOWEST));
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
