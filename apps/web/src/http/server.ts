/** The listening socket: timeouts, answers to malformed HTTP, and a stop that lets running requests finish. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHttpServer } from '@acp/kernel';
import { joinChunks } from './joined-chunks.ts';
import { sendJson } from './answer.ts';

export interface WebServer {
  readonly address: AddressInfo;
  readonly url: string;
  /** Stops accepting, lets requests finish for this long, then closes the remaining connections. */
  stop(timeoutMs: number): Promise<void>;
}

// Longer than the idle timeout of common load balancers (60 s), which might otherwise reuse a connection we just closed.
const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS = 20_000;
// For a whole request, uploads included.
const REQUEST_TIMEOUT_MS = 300_000;
const IDLE_CHECK_MS = 50;
// Of a rush that does not abate, some connection is always the first that is turned away.
const ACCEPT_MS = 1000;
const SHORT_TURN_MS = 1;

/** @throws Error that names address and settings if the system refuses the address */
export async function listen(
  handler: RequestListener,
  { host, port }: { host: string; port: number },
): Promise<WebServer> {
  let draining = false;
  const answers = new WeakMap<Duplex, ServerResponse>();
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    answers.set(request.socket, response);
    joinChunks(request);
    // Makes a client with a kept-alive connection turn to another process.
    if (draining) response.setHeader('Connection', 'close');
  };
  // Node would itself refuse a request without a Host, and without a body.
  const server = createHttpServer({ requireHostHeader: false }, (request, response) => {
    begin(request, response);
    toOriginForm(request);
    if (request.headers.host === undefined && request.httpVersion === '1.1') {
      response.setHeader('Connection', 'close');
      sendJson(response, 400, '{"error":"missing Host header"}');
    } else {
      handler(request, response);
    }
  });
  server.on('checkExpectation', (request, response) => {
    begin(request, response);
    sendJson(response, 417, '{"error":"expectation failed"}');
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.on('clientError', (error, socket) => {
    if (mayStillAnswer(answers.get(socket))) answerClientError(error, socket);
    else socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new Error(`can’t listen on ${host}:${port} (${cause.code}): set PORT or SERVICE_HOST`, { cause }),
      );
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
  const address = server.address() as AddressInfo;
  return {
    address,
    url: urlOf(host, address.port),
    stop: async (timeoutMs) => {
      draining = true;
      await acceptWaiting(server);
      await close(server, timeoutMs);
    },
  };
}

/**
 * Accepts the connections that wait in the kernel's queue: closing the socket would reset them, though a proxy has sent its request
 * already and can't send it to another process. The queue is empty after a turn that has accepted none, if nothing in the turn
 * took so long that others came.
 */
async function acceptWaiting(server: Server): Promise<void> {
  let accepted = false;
  const note = () => (accepted = true);
  server.on('connection', note);
  const until = performance.now() + ACCEPT_MS;
  // The first turn may be the rest of this one, in which nothing is accepted any more.
  await nextTurn();
  for (let empty = false; !empty && performance.now() < until;) {
    accepted = false;
    const began = performance.now();
    await nextTurn();
    empty = !accepted && performance.now() - began < SHORT_TURN_MS;
  }
  server.off('connection', note);
}

async function close(server: Server, timeoutMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // Connections whose request finishes after `close` would stay until their keep-alive expires.
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const cut = setTimeout(() => server.closeAllConnections(), timeoutMs);
  await closed;
  clearInterval(idle);
  clearTimeout(cut);
}

const clientErrors: Record<string, [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'request header fields too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'request timeout'],
};

/**
 * Whether bytes written now would form an answer of their own: not during another answer, nor after one that was sent
 * before its request was fully read (a 413).
 */
function mayStillAnswer(last: ServerResponse | undefined): boolean {
  if (last === undefined) return true;
  return last.writableFinished ? last.req.complete : !last.headersSent && !last.req.complete;
}

/** Normalises a proxy's form of a request (RFC 9112, 3.2.2): its authority replaces the Host header. */
function toOriginForm(request: IncomingMessage): void {
  const absolute = /^https?:\/\/([^/?#]+)([^#]*)/i.exec(request.url ?? '');
  if (absolute === null) return;
  const [, authority = '', rest = ''] = absolute;
  request.headers.host = authority.slice(authority.lastIndexOf('@') + 1);
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}

/** Requests that the parser refuses never become requests; node would answer them without a body. */
function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = clientErrors[error.code ?? ''] ?? ['400 Bad Request', 'malformed request'];
  const body = JSON.stringify({ error: message });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function urlOf(host: string, port: number): string {
  const any = host === '0.0.0.0' || host === '::' || host === '';
  const name = host.includes(':') ? `[${host}]` : host;
  return `http://${any ? 'localhost' : name}:${port}`;
}
