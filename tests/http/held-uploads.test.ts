/** Large uploads that are read as a whole: how many may be sent at once, however slowly. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger, loadConfig } from '@acp/kernel';
import { databaseWithQueue, waitFor } from '@acp/testkit';
import { connect, type Socket } from 'node:net';
import { createApp } from '../../apps/web/src/app.ts';
import { listen, type WebServer } from '../../apps/web/src/http/server.ts';
import { type Cast, createCast } from './cast.ts';

let server: WebServer;
let cast: Cast;
const sockets: Socket[] = [];

beforeAll(async () => {
  const database = await databaseWithQueue();
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  const app = createApp({
    database,
    logger,
    config: loadConfig({ RATE_LIMIT_RPM: '0' }),
    validate_responses: true,
  });
  server = await listen(app, { host: '127.0.0.1', port: 0 });
  cast = await createCast(database);
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server.stop(0);
});

/** Begins to send a bundle of 24 MB, and no more. @returns what is answered so far */
function begin(headers: Record<string, string>): { said: () => string; socket: Socket } {
  const socket = connect(server.address.port, '127.0.0.1');
  sockets.push(socket);
  let said = '';
  socket.on('error', () => undefined).on('data', (chunk) => (said += String(chunk)));
  const lines = Object.entries({
    host: 'x',
    'content-type': 'multipart/form-data; boundary=b',
    'content-length': '24000000',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `POST /api/companies/import HTTP/1.1\r\n${lines.join('')}\r\n` +
      `--b\r\nContent-Disposition: form-data; name="bundle"; filename="b.json"\r\n\r\n{`,
  );
  return { said: () => said, socket };
}

it('a caller has two large uploads on their way, and the next once one of them has ended', async () => {
  const headers = cast.admin.headers;
  const all = [begin(headers), begin(headers), begin(headers)];
  await waitFor(() => all.some(({ said }) => said() !== ''), { what: 'a refusal' });
  const refused = all.filter(({ said }) => said() !== '');
  expect(refused.map(({ said }) => said())).toEqual([
    expect.stringMatching(/^HTTP\/1\.1 429 [^]*retry-after: 5[^]*too many large uploads at once/i),
  ]);
  // Others are not concerned.
  const other = begin(cast.instance_admin.headers);
  all.find((each) => !refused.includes(each))!.socket.destroy();
  const retried = await waitFor(
    async () => {
      const next = begin(headers);
      const answered = waitFor(() => next.said() !== '', { what: 'an answer', timeout_ms: 1000 });
      return answered.then(
        () => false,
        () => true,
      );
    },
    { what: 'a place' },
  );
  expect(retried).toBe(true);
  expect(other.said()).toBe('');
});
