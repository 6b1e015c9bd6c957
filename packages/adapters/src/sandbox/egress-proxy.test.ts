/** The proxy in isolation: which destinations are reachable, by each of the methods that clients use. */
import { createServer as createHttpServer, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { HostList } from '@acp/kernel';
import { waitFor } from '@acp/testkit';
import { clientName } from './client-hello.ts';
import { type EgressProxy, startEgressProxy } from './egress-proxy.ts';
import { Reach, type ReachRules } from './reach.ts';

/** Records the first bytes of every connection, and answers plain HTTP. */
const came: Buffer[] = [];
const raw = createServer((one) => {
  one.on('error', () => undefined);
  one.on('data', (chunk) => came.push(chunk));
});
const web = createHttpServer((asked, answer) => {
  if (asked.url === '/away') answer.writeHead(302, { location: `http://localhost:${rawPort}/` }).end();
  else answer.end(`${asked.headers.host} ${asked.url}`);
});
let [rawPort, webPort] = [0, 0];
const proxies: EgressProxy[] = [];

beforeAll(async () => {
  for (const server of [raw, web])
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()));
  [rawPort, webPort] = [raw, web].map((server) => (server.address() as AddressInfo).port) as [number, number];
});
beforeEach(() => {
  came.length = 0;
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.close();
  web.closeAllConnections();
  for (const server of [raw, web]) server.close();
});

async function proxied(rules: ReachRules) {
  const reach = new Reach(rules);
  const proxy = await startEgressProxy({ port: 0 }, reach);
  proxies.push(proxy);
  return { reach, port: proxy.port! };
}

/** @returns the status of the tunnel, and its socket while it is open */
async function tunnel(port: number, place: string): Promise<{ status: number; socket: Socket }> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`CONNECT ${place} HTTP/1.1\r\nHost: innocent.example:443\r\n\r\n`);
  const said = await new Promise<string>((done) => {
    socket.once('data', (chunk) => done(String(chunk)));
    socket.once('close', () => done('HTTP/1.1 0'));
  });
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(said)?.[1]), socket };
}

async function ask(port: number, url: string, host = 'innocent.example') {
  return new Promise<{ status: number; text: string }>((done, failed) => {
    const asked = request({ port, host: '127.0.0.1', path: url, headers: { host } }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => (text += String(chunk)));
      answer.on('end', () => done({ status: answer.statusCode ?? 0, text }));
    });
    asked.once('error', failed);
    asked.end();
  });
}

describe('the proxy of a run', () => {
  it('looks at where a request goes, not at what its Host header says', async () => {
    const { port, reach } = await proxied({ places: [{ host: 'localhost', port: webPort }] });
    expect(await ask(port, `http://localhost:${webPort}/x`)).toEqual({
      status: 200,
      text: `localhost:${webPort} /x`,
    });
    expect((await ask(port, `http://localhost:${rawPort}/`, `localhost:${webPort}`)).status).toBe(403);
    expect((await ask(port, `http://127.0.0.1:${webPort}/`)).status).toBe(403);
    expect((await ask(port, '/x', `localhost:${webPort}`)).status).toBe(403);
    expect((await ask(port, `https://localhost:${webPort}/`)).status).toBe(403);
    expect(reach.takeRefused()).toEqual([
      { host: 'localhost', port: rawPort, times: 1 },
      { host: '127.0.0.1', port: webPort, times: 1 },
    ]);
    expect(reach.takeRefused()).toEqual([]);
  });

  it.each([
    [
      'chunks',
      'Transfer-Encoding: chunked',
      (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    ],
    [
      'a length that is to be dropped',
      'Connection: content-length\r\nContent-Length: 40',
      (body: string) => body,
    ],
  ])(
    'passes a GET’s body on as a body, framed by %s, never as another request',
    async (_what, framed, write) => {
      const { port } = await proxied({ places: [{ host: 'localhost', port: webPort }] });
      const asked: string[] = [];
      const note = ({ url }: { url?: string | undefined }) => void asked.push(url ?? '');
      web.on('request', note);
      const hidden = 'GET /hidden HTTP/1.1\r\nHost: x.example\r\n\r\n';
      const socket = connect(port, '127.0.0.1');
      let said = '';
      socket.on('data', (chunk) => (said += String(chunk)));
      socket.write(
        `GET http://localhost:${webPort}/open HTTP/1.1\r\nHost: x\r\n${framed}\r\n\r\n${write(hidden)}`,
      );
      await waitFor(() => said.includes('/open'));
      await ask(port, `http://localhost:${webPort}/next`);
      web.off('request', note);
      socket.destroy();
      expect(asked).toEqual(['/open', '/next']);
    },
  );

  it('gives every request a connection of its own, so that no answer reaches another run', async () => {
    const places = [{ host: 'localhost', port: webPort }];
    const [one, other] = await Promise.all([proxied({ places }), proxied({ places })]);
    let connections = 0;
    const count = () => void (connections += 1);
    web.on('connection', count);
    for (const { port } of [one, other, one]) await ask(port, `http://localhost:${webPort}/x`);
    web.off('connection', count);
    expect(connections).toBe(3);
  });

  it('ends a connection with hundreds of requests at once, and has opened one for them', async () => {
    const { port } = await proxied({ places: [{ host: 'localhost', port: rawPort }] });
    let connections = 0;
    const count = () => void (connections += 1);
    raw.on('connection', count);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    const ended = new Promise((done) => void socket.once('close', done));
    socket.resume();
    socket.write(`GET http://localhost:${rawPort}/ HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(500));
    await ended;
    raw.off('connection', count);
    expect(connections).toBeLessThanOrEqual(1);
  });

  it.each([
    ['a status below 100', 'HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n', /^$/],
    ['no status at all', 'HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n', /^$/],
    [
      'trailers where there can be none',
      'HTTP/1.1 200 X\r\nTrailer: x\r\nContent-Length: 2\r\n\r\nok',
      /^HTTP\/1\.1 200 [^]*ok$/,
    ],
  ])('survives a server that answers with %s', async (_what, said, expected) => {
    const hostile = createServer((one) => {
      one.on('error', () => undefined);
      one.once('data', () => one.end(said));
    });
    await new Promise<void>((done) => hostile.listen(0, '127.0.0.1', () => done()));
    const hostilePort = (hostile.address() as AddressInfo).port;
    const { port } = await proxied({ places: [{ host: 'localhost', port: hostilePort }] });
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    let got = '';
    socket.on('data', (chunk) => (got += String(chunk)));
    const ended = new Promise((done) => void socket.once('close', done));
    socket.write(`GET http://localhost:${hostilePort}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await ended;
    hostile.close();
    expect(got).toMatch(expected);
  });

  it('hands a redirect back instead of following it', async () => {
    const { port } = await proxied({ places: [{ host: 'localhost', port: webPort }] });
    expect((await ask(port, `http://localhost:${webPort}/away`)).status).toBe(302);
    expect(came).toEqual([]);
  });

  it('looks at each request of a connection that is kept open', async () => {
    const { port, reach } = await proxied({ places: [{ host: 'localhost', port: webPort }] });
    const socket = connect(port, '127.0.0.1');
    let said = '';
    socket.on('data', (chunk) => (said += String(chunk)));
    const get = (place: string) => `GET http://${place}/k HTTP/1.1\r\nHost: x\r\n\r\n`;
    socket.write(get(`localhost:${webPort}`) + get(`localhost:${rawPort}`));
    await waitFor(() => said.includes('403'), { what: 'the second answer' });
    expect(said).toContain('200 OK');
    expect(reach.takeRefused()).toHaveLength(1);
    socket.destroy();
  });

  it('refuses a name that resolves to a private address where only the company has listed it', async () => {
    const list = HostList.of([`localhost:${rawPort}`, `127.0.0.1:${rawPort}`, '169.254.169.254:80']);
    const company = { list: async () => Promise.resolve(list), opens: true };
    const { port, reach } = await proxied({ places: [], company });
    for (const place of [`localhost:${rawPort}`, `127.0.0.1:${rawPort}`, '169.254.169.254:80'])
      expect((await tunnel(port, place)).status).toBe(403);
    expect((await ask(port, `http://localhost:${rawPort}/`)).status).toBe(403);
    expect(reach.takeRefused().map(({ host }) => host)).toEqual([
      'localhost',
      '127.0.0.1',
      '169.254.169.254',
    ]);
    expect(came).toEqual([]);
  });

  it('holds a list at once when it has changed, and reaches the service whatever it says', async () => {
    let list: HostList | null = null;
    const { port } = await proxied({
      service: { host: 'localhost', port: webPort },
      places: [{ host: 'localhost', port: rawPort }],
      company: { list: async () => Promise.resolve(list), opens: false },
    });
    const status = async (to: number) => {
      const { status: got, socket } = await tunnel(port, `localhost:${to}`);
      socket.destroy();
      return got;
    };
    expect([await status(webPort), await status(rawPort)]).toEqual([200, 200]);
    list = HostList.of([]);
    expect([await status(webPort), await status(rawPort)]).toEqual([200, 403]);
    list = HostList.of([`*:${rawPort}`, `localhost:${rawPort}`]);
    expect(await status(rawPort)).toBe(200);
  });

  it('ends a tunnel in which TLS is spoken with somebody else', async () => {
    const { port, reach } = await proxied({ places: [{ host: 'localhost', port: rawPort }] });
    const speak = async (servername: string) => {
      const { socket } = await tunnel(port, `localhost:${rawPort}`);
      const tls = connectTls({ socket, servername, rejectUnauthorized: false });
      tls.on('error', () => undefined);
      const closed = new Promise<boolean>((done) => socket.once('close', () => done(true)));
      const arrived = waitFor(() => came.length > 0, { what: 'the greeting' }).then(
        () => false,
        () => true,
      );
      const ended = await Promise.race([closed, arrived]);
      tls.destroy();
      return ended;
    };
    expect(await speak('evil.example')).toBe(true);
    expect(came).toEqual([]);
    expect(reach.takeRefused()).toEqual([{ host: 'evil.example', port: rawPort, times: 1 }]);
    expect(await speak('localhost')).toBe(false);
  });

  it('lets through what is no TLS, whoever speaks first', async () => {
    const { port } = await proxied({ places: [{ host: 'localhost', port: rawPort }] });
    const { socket } = await tunnel(port, `localhost:${rawPort}`);
    socket.write('SSH-2.0-x\r\n');
    await waitFor(() => String(Buffer.concat(came)).startsWith('SSH-2.0-x'), { what: 'the greeting' });
    socket.write('more');
    await waitFor(() => came.length > 1, { what: 'what follows' });
    expect(String(Buffer.concat(came))).toBe('SSH-2.0-x\r\nmore');
    socket.destroy();
  });
});

describe('the name in a TLS greeting', () => {
  async function greetingOf(servername: string): Promise<Buffer> {
    came.length = 0;
    const tls = connectTls({ port: rawPort, host: '127.0.0.1', servername, rejectUnauthorized: false });
    tls.on('error', () => undefined);
    await waitFor(() => came.length > 0 && clientName(Buffer.concat(came)) !== 'more', {
      what: 'a greeting',
    });
    tls.destroy();
    return Buffer.concat(came);
  }

  it('is found however it is cut, over bytes and over records', async () => {
    const hello = await greetingOf('a.example');
    expect(clientName(hello)).toEqual({ name: 'a.example' });
    for (let length = 0; length < hello.length; length += 1)
      expect(clientName(hello.subarray(0, length))).toBe('more');
    const body = hello.subarray(5);
    const record = (part: Buffer) =>
      Buffer.concat([Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part]);
    const cut = Buffer.concat([
      record(body.subarray(0, 2)),
      record(body.subarray(2, 90)),
      record(body.subarray(90)),
    ]);
    expect(clientName(cut)).toEqual({ name: 'a.example' });
  });

  it('is not looked for in thousands of records, however little each holds', () => {
    const records = Array.from({ length: 5000 }, () => [22, 3, 1, 0, 1, 255]).flat();
    const hello = Buffer.from([22, 3, 1, 0, 4, 1, 255, 255, 255, ...records]);
    expect(clientName(hello.subarray(0, 500))).toBe('more');
    expect(clientName(hello)).toBe('unreadable');
  });

  it('can’t be hidden behind length or nonsense', async () => {
    const hello = await greetingOf('a.example');
    expect(clientName(Buffer.concat([hello.subarray(0, 5), Buffer.alloc(40_000, 1)]))).toBe('unreadable');
    const broken = Buffer.from(hello);
    broken[5 + 4 + 34] = 255;
    expect(clientName(broken)).toBe('unreadable');
    expect(clientName(Buffer.from('GET / HTTP/1.1'))).toEqual({ name: null });
  });
});
