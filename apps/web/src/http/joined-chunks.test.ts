import { describe, expect, it } from '@jest/globals';
import { waitFor } from '@acp/testkit';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { listen } from './server.ts';

const BODY = '0123456789'.repeat(30_000);

/** A body of which each byte is a chunk of its own. @param act what the server does with the request */
async function sendBytes(act: (request: IncomingMessage) => Promise<void>): Promise<void> {
  const taken = Promise.withResolvers<IncomingMessage>();
  const server = await listen((request) => taken.resolve(request), { host: '127.0.0.1', port: 0 });
  const client = connect(server.address.port, '127.0.0.1');
  try {
    client.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunks = Array.from(BODY, (byte) => `1\r\n${byte}\r\n`).join('');
    client.write(`${chunks}0\r\n\r\n`);
    await act(await taken.promise);
  } finally {
    client.destroy();
    await server.stop(0);
  }
}

describe('a body that is sent byte by byte', () => {
  it('arrives whole, in chunks that are worth keeping', async () => {
    await sendBytes(async (request) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      expect(Buffer.concat(chunks).toString()).toBe(BODY);
      // Not three hundred thousand.
      expect(chunks.length).toBeLessThan(3000);
    });
  });

  it('is not received faster than it is read', async () => {
    await sendBytes(async (request) => {
      request.read(0);
      await waitFor(() => request.readableLength > 0);
      for (let turn = 0; turn < 2000; turn += 1) await setImmediate();
      expect(request.readableLength).toBeLessThan(200_000);
      let text = '';
      for await (const chunk of request) text += String(chunk);
      expect(text).toBe(BODY);
    });
  });
});
