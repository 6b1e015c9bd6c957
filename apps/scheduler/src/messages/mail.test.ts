import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { ClaimedMessage } from '@acp/core';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { openMail } from './mail.ts';

const PASSWORD = 'a password of the operator';

let server: Server;
let answer: (line: string, socket: Socket) => void;
const sockets = new Set<Socket>();

beforeEach(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.write('220 here\r\n');
    socket.on('data', (bytes) => answer(bytes.toString(), socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

const open = () => {
  const { port } = server.address() as AddressInfo;
  const smtp_url = `smtp://user:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`;
  return openMail({ smtp_url, mail_from: 'from@example.com' });
};
const message = {
  id: '1',
  channel: 'mail',
  recipient: 'you@example.com',
  subject: 'Subject',
  body: 'Text',
} as ClaimedMessage;

it('a server that repeats the password, in whatever form, does not tell it', async () => {
  answer = (line, socket) => {
    if (line.startsWith('EHLO')) socket.write('250-here\r\n250 AUTH PLAIN\r\n');
    else {
      const [, coded = ''] = /AUTH PLAIN (\S+)/.exec(line) ?? [];
      const [, , word = ''] = Buffer.from(coded, 'base64').toString().split('\0');
      socket.write(`535 wrong: ${coded} ${word} ${Buffer.from(word).toString('base64')}\r\n`);
    }
  };
  const mail = open();
  const failure = await mail.send(message, AbortSignal.timeout(60_000)).catch((error: Error) => error);
  expect((failure as Error).message).toContain('wrong: [redacted] [redacted] [redacted]');
  await mail.close();
});

it('a server that is never silent and never done is given up with the signal, and its connection ends', async () => {
  answer = (line, socket) => {
    if (!line.startsWith('EHLO')) return;
    const dripping = setInterval(() => socket.write('250-and more\r\n'), 20);
    socket.once('close', () => clearInterval(dripping));
  };
  const mail = open();
  await expect(mail.send(message, AbortSignal.timeout(500))).rejects.toBeInstanceOf(Error);
  const [socket] = sockets;
  if (socket !== undefined) await once(socket, 'close');
  expect(sockets.size).toBe(0);
  await mail.close();
});
