import { describe, expect, it } from '@jest/globals';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createClient } from './client.ts';
import type { EventOptions, LiveEvent } from './live-events.ts';

type Answer = (response: ServerResponse, connection: number) => void;

const frame = (seq: number, event = 'issue_created') =>
  `id: ${seq}\nevent: ${event}\ndata: {"seq":${seq}}\n\n`;

/** Collects events of a server until `count` are there. Returns them with the `after` of each connection. */
async function read(answer: Answer, count: number, options: EventOptions = {}) {
  const asked: (string | null)[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(new URL(request.url!, 'http://server').searchParams.get('after'));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    answer(response, asked.length);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = createClient({ base_url: `http://127.0.0.1:${port}`, api_key: 'sk_test' });
  const seen: LiveEvent[] = [];
  try {
    for await (const event of client.events(options)) if (seen.push(event) === count) break;
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return { asked, seen: seen.map(({ id, event }) => [id, event]) };
}

describe('the live events', () => {
  it('resume where the stream began if it is cut off before its first event', async () => {
    const cut: Answer = (response, connection) => {
      response.write('retry: 2000\n: connected\n\nid: 41\n\n');
      if (connection === 1) response.socket!.end();
      else response.write(frame(42));
    };
    expect(await read(cut, 1, { topics: ['issues'] })).toEqual({
      asked: [null, '41'],
      seen: [['42', 'issue_created']],
    });
  });

  it('resume at the last number, be it that of an event or of what was not for the reader', async () => {
    const cut: Answer = (response, connection) => {
      response.write(`id: ${connection * 10}\n\n${frame(connection * 10 + 1)}`);
      if (connection === 2) response.write(':\n\nid: 25\n\n');
      if (connection < 3) response.end();
    };
    const { asked, seen } = await read(cut, 3, { after: '7' });
    expect(asked).toEqual(['7', '11', '25']);
    expect(seen.map(([id]) => id)).toEqual(['11', '21', '31']);
  });

  it('reconnect when nothing comes any more; a comment is enough to stay', async () => {
    const silent: Answer = (response, connection) => {
      response.write(frame(connection));
      if (connection !== 1) return;
      // Five comments, then silence without an end.
      for (const n of [1, 2, 3, 4, 5]) setTimeout(() => response.write(':\n\n'), n * 200);
    };
    const begin = performance.now();
    expect(await read(silent, 2, { max_silence_ms: 400 })).toMatchObject({ asked: [null, '1'] });
    expect(performance.now() - begin).toBeGreaterThan(1300);
  });

  it.each(['before the answer', 'within the stream'])(
    'end when the signal aborts %s, even if the connection does not hear of it',
    async (when) => {
      const over = new AbortController();
      const body = new ReadableStream<Uint8Array>({
        start: (stream) => stream.enqueue(new TextEncoder().encode(frame(1))),
      });
      const deaf = async () =>
        when === 'before the answer' ? new Promise<never>(() => undefined) : new Response(body);
      const client = createClient({ base_url: 'http://nowhere', api_key: 'sk_test', fetch: deaf });
      setTimeout(() => over.abort(), 100);
      let seen = 0;
      for await (const _ of client.events({ signal: over.signal })) seen += 1;
      expect(seen).toBe(when === 'before the answer' ? 0 : 1);
    },
  );
});
