import { createServer } from 'node:net';

export const LOOPBACK = '127.0.0.1';

/** Returns the port if it is free, otherwise undefined; 0 asks for any free port. */
export async function freePort(port: number): Promise<number | undefined> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (err: NodeJS.ErrnoException) =>
      err.code === 'EADDRINUSE' || err.code === 'EACCES' ? resolve(undefined) : reject(err),
    );
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}
