/**
 * A sandbox's only way out: an HTTP proxy on a Unix socket that is mounted into it. It reaches nothing but the listed places,
 * through tunnels (CONNECT) and plain HTTP requests. Names are resolved outside the sandbox.
 */
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
  RequestListener,
  ServerResponse,
} from 'node:http';
import { connect, type ListenOptions, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  canonicalHost,
  createHttpServer,
  EgressError,
  type EgressPolicy,
  guardedLookup,
  requestHttp,
} from '@acp/kernel';
import type { EgressPlace } from './egress-place.ts';
import { clientName } from './client-hello.ts';
import type { Reach } from './reach.ts';
import { requestTo, type Route, throughProxy, tunnelThrough } from './route.ts';

export interface EgressProxy {
  /** Its port on the machine's loopback; null for a socket. */
  port: number | null;
  close(): Promise<void>;
}

/** Maximum per sandbox. */
const MAX_CONNECTIONS = 128;
/** Requests of one connection that wait for the answer to another. */
const MOST_WAITING = 20;
const IDLE_MS = 10 * 60_000;
/** Headers that identify the caller to anyone who trusts the scheduler's machine, or that concern one connection only. */
const keptBack = new Set([
  'connection',
  'forwarded',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-real-ip',
]);

/** An allowed place, with the lookup that leads to its addresses, or the proxy that leads there. */
interface Admitted extends EgressPlace {
  lookup: LookupFunction;
  route: Route | null;
}

/**
 * @param where path of the Unix socket, which must be short, since the kernel allows about 100 bytes; or a port on the
 * machine's loopback for an unsandboxed program: anyone else who finds it can reach the same places
 */
export async function startEgressProxy(where: string | { port: number }, reach: Reach): Promise<EgressProxy> {
  const open = new Set<Duplex>();
  const hold = (one: Duplex): void => {
    open.add(one);
    one.on('error', () => one.destroy());
    one.once('close', () => open.delete(one));
  };
  const server = createHttpServer(
    inTurn((asked, answer) => {
      void answerPlain(reach, asked, answer).catch(() => answer.destroy());
    }),
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', (one) => {
    hold(one);
    one.setTimeout(IDLE_MS, () => one.destroy());
  });
  server.on('connect', (asked: IncomingMessage, inner: Duplex, head: Buffer) => {
    void tunnel(reach, asked.url ?? '', { inner, head, hold }).catch(() => inner.destroy());
  });
  server.on('clientError', (_err, one) => one.destroy());
  await new Promise<void>((done, failed) => server.once('error', failed).listen(listening(where), done));
  const at = server.address();
  return {
    port: typeof at === 'object' ? (at?.port ?? null) : null,
    close: async () => {
      const closed = new Promise<void>((done) => void server.close(() => done()));
      for (const one of open) one.destroy();
      await closed;
    },
  };
}

/**
 * Requests that come before the answer to the one before them wait for it: each opens a connection, and thousands fit into one. Too
 * many waiting end theirs.
 */
function inTurn(act: RequestListener): RequestListener {
  const waiting = new WeakMap<Duplex, (() => void)[]>();
  return (asked, answer) => {
    const { socket } = asked;
    const line = waiting.get(socket) ?? [];
    waiting.set(socket, line);
    if (line.length > MOST_WAITING) return void socket.destroy();
    line.push(() => act(asked, answer));
    answer.once('close', () => {
      line.shift();
      if (!socket.destroyed) line[0]?.();
    });
    if (line.length === 1) line[0]!();
  };
}

/** Every request is checked separately, even on one connection; its Host header is ignored. */
async function answerPlain(reach: Reach, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const url = URL.canParse(asked.url ?? '') ? new URL(asked.url!) : null;
  const place = url?.protocol === 'http:' ? placeOf(`${url.hostname}:${url.port || '80'}`) : undefined;
  const found = place === undefined ? undefined : await admitted(reach, place);
  if (url === null || found === undefined) return refuse(answer);
  forward(asked, answer, url, { ...found, onRefused: () => reach.refuse(found) });
}

async function tunnel(
  reach: Reach,
  target: string,
  { inner, head, hold }: { inner: Duplex; head: Buffer; hold: (one: Duplex) => void },
): Promise<void> {
  const place = placeOf(target);
  const found = place === undefined ? undefined : await admitted(reach, place);
  if (found === undefined) return void inner.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
  if (inner.destroyed) return;
  const over = new AbortController();
  inner.once('close', () => over.abort());
  const outer = await dial(found, hold, over.signal).catch((err: unknown) => {
    const isRefused = err instanceof EgressError;
    if (isRefused) reach.refuse(found);
    // Clients try again and again if the connection just closes.
    const status = isRefused ? '403 Forbidden' : '502 Bad Gateway';
    return void inner.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  });
  if (outer === undefined) return;
  outer.once('close', () => inner.destroy());
  inner.once('close', () => outer.destroy());
  if (inner.destroyed || outer.destroyed) return void outer.destroy();
  inner.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  // The server may speak first, as with ssh.
  outer.pipe(inner);
  const said = await greeting(inner, head);
  // Many names share an address, so the name the client talks to must be allowed as well.
  if (said === null || !(await mayBe(reach, found, said.name))) return void inner.destroy();
  outer.write(said.bytes);
  inner.pipe(outer);
}

async function dial(found: Admitted, hold: (one: Duplex) => void, signal: AbortSignal): Promise<Duplex> {
  const { host, port, lookup, route } = found;
  if (route !== null && route.proxy !== null) {
    const outer = await tunnelThrough(route.proxy, route, found, { timeout: IDLE_MS, signal });
    hold(outer);
    return outer;
  }
  const outer = connect({ host, port, lookup, timeout: IDLE_MS });
  hold(outer);
  outer.once('timeout', () => outer.destroy());
  const stop = (): void => void outer.destroy();
  signal.addEventListener('abort', stop, { once: true });
  await new Promise<void>((done, failed) => {
    outer.once('connect', done).once('error', failed);
    outer.once('close', () => failed(new Error('it was closed')));
  });
  return outer;
}

async function mayBe(reach: Reach, { host, port }: EgressPlace, name: string | null): Promise<boolean> {
  return name === null || name === host || (await reach.admit({ host: name, port })) !== undefined;
}

/** The client's first bytes and the server name in them; null if it can't be determined or the connection ends first. */
async function greeting(inner: Duplex, head: Buffer): Promise<{ bytes: Buffer; name: string | null } | null> {
  inner.pause();
  for (let bytes = head; ;) {
    const read = clientName(bytes);
    if (read === 'unreadable') return null;
    if (read !== 'more') return { bytes, ...read };
    const chunk = (inner.read() as Buffer | null) ?? (await nextChunk(inner));
    if (chunk === null) return null;
    bytes = Buffer.concat([bytes, chunk]);
  }
}

async function nextChunk(inner: Duplex): Promise<Buffer | null> {
  return new Promise((done) => {
    const events = ['readable', 'end', 'close'] as const;
    const onAny = (): void => {
      for (const event of events) inner.off(event, onAny);
      done(inner.read() as Buffer | null);
    };
    for (const event of events) inner.on(event, onAny);
  });
}

async function admitted(reach: Reach, place: EgressPlace): Promise<Admitted | undefined> {
  const policy = await reach.admit(place);
  if (policy === undefined) return undefined;
  const route = reach.routeTo(place);
  return { ...place, route, lookup: route?.lookup ? guardedLookup(policy, route.lookup) : lookups[policy] };
}

const lookups: Record<EgressPolicy, LookupFunction> = {
  any: guardedLookup('any'),
  public: guardedLookup('public'),
};

const listening = (where: string | { port: number }): ListenOptions =>
  typeof where === 'string' ? { path: where } : { host: '127.0.0.1', port: where.port };

/** In one spelling: a proxy that the connection leaves by would otherwise resolve `0xa.1`, which no rule knows as an address. */
function placeOf(text: string): EgressPlace | undefined {
  const [, written, port] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  const host = written === undefined ? undefined : canonicalHost(written);
  return host === undefined ? undefined : { host, port: Number(port) };
}

function forward(
  asked: IncomingMessage,
  answer: ServerResponse,
  url: URL,
  { onRefused, host, port, lookup, route }: Admitted & { onRefused: () => void },
): void {
  const headers = passedOn(asked.headers);
  const proxy = route?.proxy ?? null;
  const { login, ...to } =
    route === null || proxy === null ? { login: {}, host, port, lookup } : throughProxy(proxy, route);
  const out = (proxy === null ? requestHttp : requestTo(proxy))({
    ...to,
    // A proxy needs to know the host.
    path: `${proxy === null ? '' : url.origin}${url.pathname}${url.search}`,
    method: asked.method,
    timeout: IDLE_MS,
    headers: { ...headers, ...login, host: url.host },
    // On a connection that others use next, an unexpected answer would be taken for theirs.
    agent: false,
  });
  out.once('timeout', () => out.destroy());
  out.once('error', (err) => {
    if (answer.headersSent) return void answer.destroy();
    if (!(err instanceof EgressError)) return void answer.writeHead(502).end();
    onRefused();
    refuse(answer);
  });
  out.once('response', (got) => {
    got.once('error', () => answer.destroy());
    try {
      passBack(got, answer);
    } catch {
      // Read from the server without complaint, but nothing that may be written: thrown here, it would end the process.
      out.destroy();
      answer.destroy();
    }
  });
  answer.once('close', () => out.destroy());
  asked.pipe(out);
}

/** @throws for what no server may answer, such as the status 099 */
function passBack(got: IncomingMessage, answer: ServerResponse): void {
  const {
    connection: _one,
    'keep-alive': _two,
    'transfer-encoding': _three,
    trailer: _four,
    ...rest
  } = got.headers;
  answer.writeHead(got.statusCode ?? 502, rest);
  got.pipe(answer);
}

/** Without what concerns one connection only. A body keeps its framing whatever `Connection` names: unframed, it would be read as further requests. */
function passedOn(given: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = new Set((given.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  named.delete('content-length');
  const kept = Object.entries(given).filter(
    ([name]) => !keptBack.has(name) && !named.has(name) && !name.startsWith('x-forwarded-'),
  );
  const isChunked = given['transfer-encoding'] !== undefined;
  return { ...Object.fromEntries(kept), ...(isChunked && { 'transfer-encoding': 'chunked' }) };
}

function refuse(answer: ServerResponse): void {
  answer.writeHead(403, { connection: 'close' }).end('the sandbox does not reach this place\n');
}
