// A server that answers as each test says, and what hostile servers answer: none of it is of use to anybody.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { constants, createBrotliCompress, createDeflateRaw, createGzip } from 'node:zlib';

export type HostileAnswer = (response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

export interface HostileServer {
  url: string;
  asked: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[];
  /** From now on. */
  answer(how: HostileAnswer): void;
  close(): void;
}

export async function startHostileServer(): Promise<HostileServer> {
  let how: HostileAnswer = (response) => void response.end();
  const asked: HostileServer['asked'] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    // What a client thinks of the answer is its own matter: it may hang up at any time.
    const answered = async () => {
      asked.push({ method, url, headers, body: await text(request) });
      await how(response, request);
    };
    answered().catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer: (next) => (how = next),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const PIECE_BYTES = 16 * 2 ** 20;
const PIECES = 64;
const codings = {
  gzip: () => [createGzip(), constants.Z_FULL_FLUSH] as const,
  deflate: () => [createDeflateRaw(), constants.Z_FULL_FLUSH] as const,
  br: () =>
    [
      createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
      constants.BROTLI_OPERATION_FLUSH,
    ] as const,
};

type Coding = keyof typeof codings;

const packed = new Map<Coding, Promise<[Buffer, Buffer]>>();

/** The first piece, and those that follow: after a flush, all are alike. */
async function pack(coding: Coding): Promise<[Buffer, Buffer]> {
  const [packer, flush] = codings[coding]();
  const next = async (): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    const keep = (chunk: Buffer) => chunks.push(chunk);
    packer.on('data', keep);
    await new Promise<unknown>((done) => packer.write(Buffer.alloc(PIECE_BYTES, ' '), done));
    await new Promise<void>((done) => packer.flush(flush, done));
    packer.off('data', keep);
    return Buffer.concat(chunks);
  };
  const pieces: [Buffer, Buffer] = [await next(), await next()];
  packer.destroy();
  return pieces;
}

/** A gigabyte of blanks. */
function bomb(coding: Coding): HostileAnswer {
  return async (response) => {
    const pieces = packed.get(coding) ?? pack(coding);
    packed.set(coding, pieces);
    const [first, next] = await pieces;
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding });
    response.write(first);
    for (let piece = 1; piece < PIECES && !response.destroyed; piece += 1) response.write(next);
    response.end();
  };
}

const json = (body: string): HostileAnswer => {
  return (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(body);
};

/** Bytes in place of an HTTP response. */
const raw = (bytes: string | Buffer): HostileAnswer => {
  return (response) => void response.socket?.end(bytes);
};

/** Without end, as long as somebody reads. @param every_ms between writes; 0: as fast as it is read */
function endless(piece: string, every_ms: number, before = ''): HostileAnswer {
  return async ({ socket }) => {
    if (socket === null) return;
    const gone = new AbortController();
    socket.once('close', () => gone.abort());
    socket.write(before);
    while (socket.writable) {
      if (every_ms > 0) await pause(every_ms);
      else if (socket.writableNeedDrain) await once(socket, 'drain', gone).catch(() => undefined);
      socket.write(piece);
    }
  };
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const flood = (count: number) => Array.from({ length: count }, (_, index) => `X-${index}: y\r\n`).join('');

/** Each must be refused within the limits of whoever asked, without harm. */
export const hostileAnswers = {
  'a gigabyte in gzip': bomb('gzip'),
  'a gigabyte in deflate': bomb('deflate'),
  'a gigabyte in brotli': bomb('br'),
  'a body without end': endless('x'.repeat(65_536), 0, `${HEAD}\r\n`),
  'a length that is no length': raw(`${HEAD}Content-Length: 9e99\r\n\r\n{}`),
  'something else than its encoding says': raw(
    `${HEAD}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`,
  ),
  'ten encodings': raw(`${HEAD}Content-Encoding: ${'gzip,'.repeat(9)}gzip\r\nContent-Length: 2\r\n\r\n{}`),
  'a megabyte of a header': raw(`${HEAD}X-Long: ${'y'.repeat(2 ** 20)}\r\nContent-Length: 2\r\n\r\n{}`),
  'ten thousand headers': raw(`${HEAD}${flood(10_000)}Content-Length: 2\r\n\r\n{}`),
  'status 099': raw('HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\n{}'),
  'status 999': raw('HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\n{}'),
  'status 101': raw('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n{}'),
  'no HTTP at all': raw('220 mail.example.com ESMTP\r\n'),
  'an end before the body': raw(`${HEAD}Content-Length: 100\r\n\r\n{`),
  'JSON nested 100,000 levels deep': json(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  'a redirect to itself': (response, { url }) => void response.writeHead(307, { location: url }).end(),
  'a redirect to a file': (response) =>
    void response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
} satisfies Record<string, HostileAnswer>;

/** They never end, and are never silent: only a limit to the time of the whole exchange ends them. */
export const drippingAnswers = {
  'its body byte by byte': endless(' ', 50, `${HEAD}\r\n`),
  'its headers byte by byte': endless('y', 50, `${HEAD}X-Slow: `),
  'interim responses': endless('HTTP/1.1 103 Early Hints\r\n\r\n', 50),
} satisfies Record<string, HostileAnswer>;
