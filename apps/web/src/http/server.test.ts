import { describe, expect, it } from '@jest/globals';
import { waitFor } from '@acp/testkit';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { listen } from './server.ts';

const start = async (handler: RequestListener) => listen(handler, { host: '127.0.0.1', port: 0 });
const hello: RequestListener = (_request, response) => void response.end('hello');

/** A thread's program: many requests, each over a connection of its own; it counts the connections and posts the answers' status. */
const ASK_ALL_AT_ONCE = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { port, count, connected } } = require('node:worker_threads');
  const ask = () => new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n', () => {
        Atomics.add(connected, 0, 1);
        Atomics.notify(connected, 0);
      });
    });
    socket.setEncoding('utf8').on('data', (text) => (answer += text));
    socket.on('error', (error) => (answer = error.code));
    socket.on('close', () => resolve(Number(answer.split(' ')[1]) || answer));
  });
  Promise.all(Array.from({ length: count }, ask)).then((all) => parentPort.postMessage(all));
`;

/** Returns everything received in answer to the bytes until the server closes. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
  socket.on('error', () => undefined);
  socket.write(bytes);
  await once(socket, 'close');
  return answer;
}

/** Sends each part after receiving something in answer to the previous one. */
async function exchangeInTurns(port: number, parts: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
    const next = parts.shift();
    if (next !== undefined) socket.write(next);
  });
  socket.on('error', () => undefined);
  socket.write(parts.shift()!);
  await once(socket, 'close');
  return answer;
}

async function refuses(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return false;
  } catch {
    return true;
  } finally {
    socket.destroy();
  }
}

async function fetchText(
  url: string,
  agent?: Agent,
): Promise<{ text: string; headers: IncomingMessage['headers'] }> {
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += String(part);
  return { text, headers: response.headers };
}

describe('what is no HTTP', () => {
  it.each([
    ['garbage', 'nonsense\r\n\r\n', 400, 'malformed request'],
    ['a header without a name', 'GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n', 400, 'malformed request'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
      'malformed request',
    ],
    [
      'too many headers',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'request header fields too large',
    ],
  ])('a client sends %s: refused with an error body', async (_what, bytes, status, error) => {
    const server = await start(hello);
    const answer = await exchange(server.address.port, bytes);
    expect(answer).toContain(`HTTP/1.1 ${status} `);
    expect(answer).toContain(JSON.stringify({ error }));
    await server.stop(1000);
  });
});

describe('unusual requests', () => {
  const echo: RequestListener = ({ url, headers }, response) => void response.end(`${headers.host} ${url}`);
  const jsonOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as unknown;

  it.each([
    ['http://other.test:81/a/b?c=1', 'other.test:81 /a/b?c=1'],
    ['HTTPS://user@other.test?c=1', 'other.test /?c=1'],
  ])('a proxy names the whole address %s: the handler sees path and host', async (target, seen) => {
    const server = await start(echo);
    const bytes = `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    expect(await exchange(server.address.port, bytes)).toContain(seen);
    await server.stop(1000);
  });

  it('a client names no host, or expects what nobody knows: refused with an error body', async () => {
    const server = await start(hello);
    const { port } = server.address;
    const hostless = await exchange(port, 'GET / HTTP/1.1\r\n\r\n');
    expect(hostless).toContain('HTTP/1.1 400 ');
    expect(jsonOf(hostless)).toEqual({ error: 'missing Host header' });
    const close = 'Connection: close\r\n\r\n';
    const expecting = await exchange(port, `GET / HTTP/1.1\r\nHost: a\r\nExpect: 42\r\n${close}`);
    expect(expecting).toContain('HTTP/1.1 417 ');
    expect(jsonOf(expecting)).toEqual({ error: 'expectation failed' });
    expect(await exchange(port, `GET / HTTP/1.0\r\n${close}`)).toContain('hello');
    await server.stop(1000);
  });

  it('nonsense comes after a refusal, or into an answer that is under way: nothing is written into it', async () => {
    const chunked = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    const refusing = await start((_request, response) => {
      response.statusCode = 413;
      response.end('too large');
    });
    const refused = await exchangeInTurns(refusing.address.port, [chunked, 'nonsense\r\n']);
    expect(refused.match(/HTTP\/1\.1/g)).toHaveLength(1);
    await refusing.stop(1000);
    const sending = await start((_request, response) => void response.write('the first half'));
    const asking = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
    const cut = await exchangeInTurns(sending.address.port, [asking, 'nonsense\r\n\r\n']);
    expect(cut.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(cut).not.toContain('malformed');
    await sending.stop(1000);
  });
});

describe('stopping', () => {
  it('a request is under way: it gets its answer, then the server is gone', async () => {
    const gate = Promise.withResolvers<void>();
    let arrived = false;
    const server = await start((_request, response) => {
      arrived = true;
      void gate.promise.then(() => response.end('finished'));
    });
    const answer = fetchText(server.url);
    await waitFor(() => arrived);
    const stopped = server.stop(10_000);
    await waitFor(async () => refuses(server.address.port));
    gate.resolve();
    await expect(answer).resolves.toMatchObject({ text: 'finished' });
    await stopped;
  });

  it('idle connections are kept open by their clients: they do not hold it up', async () => {
    const server = await start(hello);
    const agent = new Agent({ keepAlive: true });
    await fetchText(server.url, agent);
    // If the server waited for the connection, the test would time out.
    await expect(server.stop(3_600_000)).resolves.toBeUndefined();
    agent.destroy();
  });

  it('connections wait to be accepted: they are, and their requests answered', async () => {
    const server = await start(hello);
    const connected = new Int32Array(new SharedArrayBuffer(4));
    const count = 20;
    const clients = new Worker(ASK_ALL_AT_ONCE, {
      eval: true,
      workerData: { port: server.address.port, count, connected },
    });
    const answers = once(clients, 'message');
    await once(clients, 'online');
    // This thread accepts nothing meanwhile: the kernel alone has completed the connections and holds their requests.
    while (Atomics.load(connected, 0) < count) Atomics.wait(connected, 0, Atomics.load(connected, 0), 5000);
    await server.stop(3_600_000);
    expect(await answers).toEqual([Array.from({ length: count }, () => 200)]);
  });

  it('a request never ends: it is cut when the time is over', async () => {
    let arrived = false;
    const server = await start(() => {
      arrived = true;
    });
    const answer = fetchText(server.url);
    answer.catch(() => undefined);
    await waitFor(() => arrived);
    await server.stop(100);
    await expect(answer).rejects.toThrow('socket hang up');
  });
});

it('the port is taken: starting fails and says what to set', async () => {
  const server = await start(hello);
  const { port } = server.address;
  await expect(listen(hello, { host: '127.0.0.1', port })).rejects.toThrow(
    `can’t listen on 127.0.0.1:${port} (EADDRINUSE): set PORT or SERVICE_HOST`,
  );
  await server.stop(1000);
});
