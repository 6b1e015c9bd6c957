/**
 * The only way out of a sandbox: an HTTP proxy on a Unix socket that is bound into it. It reaches the places of its list and
 * nothing else: by tunnels (CONNECT), and by plain requests where nothing is encrypted. Names are resolved out here.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect, isIP, type ListenOptions, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import { type EgressPolicy, guardedLookup, isForbiddenAddress } from '@acp/kernel';
import type { EgressPlace } from '../task.ts';

export interface EgressProxy {
  /** `host:port` of what was asked for in vain, each once, up to a bound. */
  refused(): string[];
  /** Where it listens on the machine's own loopback; null for a socket. */
  port: number | null;
  close(): Promise<void>;
}

/** Of one sandbox. */
const MAX_CONNECTIONS = 128;
const IDLE_MS = 10 * 60_000;
const REFUSALS_KEPT = 20;
/** Say who the caller is to whoever trusts the scheduler's machine, or concern the one connection alone. */
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

/**
 * @param where path of the Unix socket, short, since the kernel takes about 100 bytes; or a port of the machine's loopback,
 * for a program that is not shut in: whoever else finds it gets to the same places
 * @param policy what the names of the places may resolve to; metadata services are refused under every name
 */
export async function startEgressProxy(
  where: string | { port: number },
  places: readonly EgressPlace[],
  policy: EgressPolicy = 'any',
): Promise<EgressProxy> {
  const lookup = guardedLookup(policy);
  const open = new Set<Duplex>();
  const refusals = new Set<string>();
  const hold = (one: Duplex): void => {
    open.add(one);
    one.on('error', () => one.destroy());
    one.once('close', () => open.delete(one));
  };
  const admitted = (text: string): EgressPlace | undefined => {
    const place = placeOf(text);
    if (place !== undefined && isListed(place, places, policy)) return place;
    if (refusals.size < REFUSALS_KEPT) refusals.add(text.slice(0, 200));
    return undefined;
  };
  const server = createServer((asked, answer) => {
    const url = URL.canParse(asked.url ?? '') ? new URL(asked.url!) : null;
    const place = url?.protocol === 'http:' ? admitted(`${url.hostname}:${url.port || '80'}`) : undefined;
    if (url === null || place === undefined) return refuse(answer);
    forward(asked, answer, url, { ...place, lookup });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', (one) => {
    hold(one);
    one.setTimeout(IDLE_MS, () => one.destroy());
  });
  server.on('connect', (asked: IncomingMessage, inner: Duplex, head: Buffer) => {
    const place = admitted(asked.url ?? '');
    if (place === undefined) return void inner.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
    const outer = connect({ ...place, lookup, timeout: IDLE_MS });
    hold(outer);
    outer.once('timeout', () => outer.destroy());
    outer.once('connect', () => {
      inner.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      outer.write(head);
      inner.pipe(outer).pipe(inner);
    });
    outer.once('close', () => inner.destroy());
    inner.once('close', () => outer.destroy());
  });
  server.on('clientError', (_err, one) => one.destroy());
  await new Promise<void>((done, failed) => server.once('error', failed).listen(listening(where), done));
  const at = server.address();
  return {
    refused: () => [...refusals],
    port: typeof at === 'object' ? (at?.port ?? null) : null,
    close: async () => {
      const closed = new Promise<void>((done) => void server.close(() => done()));
      for (const one of open) one.destroy();
      await closed;
    },
  };
}

const listening = (where: string | { port: number }): ListenOptions =>
  typeof where === 'string' ? { path: where } : { host: '127.0.0.1', port: where.port };

function placeOf(text: string): EgressPlace | undefined {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined) return undefined;
  return { host: host.toLowerCase().replaceAll(/^\[|\]$/g, ''), port: Number(port) };
}

/** A leading dot in the list stands for everything below. */
function isListed(
  { host, port }: EgressPlace,
  places: readonly EgressPlace[],
  policy: EgressPolicy,
): boolean {
  if (isIP(host) !== 0 && isForbiddenAddress(host, policy)) return false;
  return places.some(
    (place) =>
      place.port === port && (place.host.startsWith('.') ? host.endsWith(place.host) : host === place.host),
  );
}

function forward(
  asked: IncomingMessage,
  answer: ServerResponse,
  url: URL,
  place: EgressPlace & { lookup: LookupFunction },
): void {
  const named = new Set((asked.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const headers = Object.fromEntries(
    Object.entries(asked.headers).filter(
      ([name]) => !keptBack.has(name) && !named.has(name) && !name.startsWith('x-forwarded-'),
    ),
  );
  const path = `${url.pathname}${url.search}`;
  const out = request({
    ...place,
    path,
    method: asked.method,
    timeout: IDLE_MS,
    headers: { ...headers, host: url.host },
  });
  out.once('timeout', () => out.destroy());
  out.once('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
  out.once('response', (got) => {
    const { connection: _one, 'keep-alive': _two, 'transfer-encoding': _three, ...rest } = got.headers;
    answer.writeHead(got.statusCode ?? 502, rest);
    got.pipe(answer);
    got.once('error', () => answer.destroy());
  });
  answer.once('close', () => out.destroy());
  asked.pipe(out);
}

function refuse(answer: ServerResponse): void {
  answer.writeHead(403, { connection: 'close' }).end('the sandbox does not reach this place\n');
}
