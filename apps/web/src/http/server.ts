/** The listening socket: time limits, answers to what is no HTTP, and a stop that lets running requests end. */
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { sendJson } from './answer.ts';

export interface WebServer {
  readonly address: AddressInfo;
  readonly url: string;
  /** Accepts nothing more, lets requests end for so long, then cuts what is left. */
  stop(timeoutMs: number): Promise<void>;
}

// Longer than the idle timeout of the usual load balancers (60 s), which would else reuse a connection we just closed.
const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS = 20_000;
// A whole request, uploads included.
const REQUEST_TIMEOUT_MS = 300_000;
const IDLE_CHECK_MS = 50;

/** @throws Error that names address and settings where the system refuses the address */
export async function listen(
  handler: RequestListener,
  { host, port }: { host: string; port: number },
): Promise<WebServer> {
  let draining = false;
  const answers = new WeakMap<Duplex, ServerResponse>();
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    answers.set(request.socket, response);
    // A client that goes on with a kept connection has to turn to another process.
    if (draining) response.setHeader('Connection', 'close');
  };
  // Node would refuse a request without a Host by itself, and without a body.
  const server = createServer({ requireHostHeader: false }, (request, response) => {
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
      await close(server, timeoutMs);
    },
  };
}

async function close(server: Server, timeoutMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // Connections whose request ends after `close` would stay until their keep-alive runs out.
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
 * Whether bytes that are written now would be an answer of their own: not while another answer is under way, nor after
 * one that came before its request was read to the end (a 413).
 */
function mayStillAnswer(last: ServerResponse | undefined): boolean {
  if (last === undefined) return true;
  return last.writableFinished ? last.req.complete : !last.headersSent && !last.req.complete;
}

/** A proxy's spelling of a request (RFC 9112, 3.2.2): its authority stands in for the Host header. */
function toOriginForm(request: IncomingMessage): void {
  const absolute = /^https?:\/\/([^/?#]+)([^#]*)/i.exec(request.url ?? '');
  if (absolute === null) return;
  const [, authority = '', rest = ''] = absolute;
  request.headers.host = authority.slice(authority.lastIndexOf('@') + 1);
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}

/** What the parser refused never becomes a request; node would answer it without a body. */
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
