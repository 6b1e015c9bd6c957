/** Servers with TLS that speak HTTP/2 as well, as those of most vendors do. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createGuardedFetch, createGuardedWebSocket } from './index.ts';

// Of `localhost`, signed by itself, until 2126.
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgKxHLkXnWyGs5wVpF
Zo2reeQrRqwLcgSJV6bcng+9CmqhRANCAAQKYEn8jbY9HTcTiqp7o7g4U5XRIZa9
tA5NnKQzuPAYcN5L8M9sCswwIVSzPW/nIW0M/spB0+IhkHQGFKeliMJP
-----END PRIVATE KEY-----`;
const cert = `-----BEGIN CERTIFICATE-----
MIIBljCCATugAwIBAgIUCqNQe5YP+iaUdwnsc9gCtUdIrMIwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyOTE2MzQyMloYDzIxMjYxMTA1
MTYzNDIyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQKYEn8jbY9HTcTiqp7o7g4U5XRIZa9tA5NnKQzuPAYcN5L8M9sCsww
IVSzPW/nIW0M/spB0+IhkHQGFKeliMJPo2kwZzAdBgNVHQ4EFgQU8tEmb+lFWEJT
OqugqACWgml3PmQwHwYDVR0jBBgwFoAU8tEmb+lFWEJTOqugqACWgml3PmQwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
SQAwRgIhAId/grJO7owO+7XmzP77h5v0zASwQwrNApX6ys+fqr9iAiEAzys+GLCC
gqzojoSWqEiYLkd3ktnMOc8V7Ine2uWXTKE=
-----END CERTIFICATE-----`;

const trusted = getCACertificates('default');
const guard = { egress: 'any' } as const;
let server: Http2SecureServer;
let url: string;
const connections = new Set<Socket>();

beforeAll(async () => {
  setDefaultCACertificates([...trusted, cert]);
  server = createSecureServer({ key, cert, allowHTTP1: true });
  server.on('secureConnection', (one: Socket) => {
    connections.add(one);
    one.on('error', () => undefined);
  });
  let dead: unknown;
  // The first connection dies without a word after its first answer, as when a router forgets it.
  server.on('request', (asked, answer) => {
    const connection = asked.stream?.session ?? asked.socket;
    if (connection === dead) return;
    dead ??= connection;
    answer.end('here');
  });
  server.on('upgrade', (asked: { headers: Record<string, string> }, socket: Socket) => {
    const accept = `${asked.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const said = createHash('sha1').update(accept).digest('base64');
    socket.write(
      `HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${said}\r\n\r\n`,
    );
    socket.write(Buffer.from([0x81, 2, ...Buffer.from('hi')]));
  });
  await once(server.listen(0), 'listening');
  url = `localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  for (const one of connections) one.destroy();
  server.close();
  setDefaultCACertificates(trusted);
});

it('a connection that died is not used again once a request over it was given up', async () => {
  const send = createGuardedFetch(guard);
  const ask = async (within_ms: number) =>
    send(`https://${url}/`, { method: 'POST', signal: AbortSignal.timeout(within_ms) }).then(
      async (answer) => answer.text(),
      () => 'none',
    );
  // A connection is not free for the next request the moment its answer is read.
  for (let [count, said] = [0, 'here']; said === 'here' && count < 5; count += 1) said = await ask(500);
  expect(await ask(10_000)).toBe('here');
});

it('a WebSocket is opened', async () => {
  const open = createGuardedWebSocket(guard);
  const said = await new Promise<string>((done) => {
    const ended = (how: string) => () => done(how);
    const socket = open(`wss://${url}/`, {
      message(text) {
        socket.close();
        done(text);
      },
      ping: () => undefined,
      closed: ended('closed'),
      failed: ended('failed'),
    });
  });
  expect(said).toBe('hi');
});
