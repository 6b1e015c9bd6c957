import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A proxy in front of a stand-in, which keeps a caller waiting at a chosen step. */
export interface HeldDoor {
  url: string;
  /** Every request that has come, `METHOD /path`. */
  came: string[];
  /** Holds back requests that match: unanswered, before or after they have reached the stand-in. @returns once one is held */
  hold(request: RegExp, when: 'before' | 'after'): Promise<void>;
  /** Lets all pass from now on. What was held is dropped. */
  open(): void;
  close(): Promise<void>;
}

export async function openDoor(to: string): Promise<HeldDoor> {
  const target = new URL(to);
  const came: string[] = [];
  let held: { request: RegExp; when: 'before' | 'after'; reached(): void } | undefined;
  const server = createServer((request, response) => {
    const about = `${request.method} ${request.url}`;
    came.push(about);
    const stop = held?.request.test(about) ? held : undefined;
    void (async () => {
      const body = await buffer(request);
      if (stop?.when === 'before') return stop.reached();
      const forward = send({
        host: target.hostname,
        port: target.port,
        path: request.url,
        method: request.method,
        headers: { ...request.headers, host: target.host },
      });
      forward.end(body);
      const [answer] = (await once(forward, 'response')) as [IncomingMessage];
      const content = await buffer(answer);
      if (stop !== undefined) return stop.reached();
      response.writeHead(answer.statusCode ?? 502, answer.headers).end(content);
    })().catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    came,
    hold: async (request, when) =>
      new Promise((reached) => {
        held = { request, when, reached };
      }),
    open: () => (held = undefined),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
