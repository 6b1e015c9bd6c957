/** How connections leave if they don't go straight to their destination: through a proxy, or with names from one server. */
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { RequestOptions } from 'node:http';
import { request as requestTls } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { callbackify } from 'node:util';
import { EgressError, type Lookup, requestHttp } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';
import type { EgressPlace } from './egress-place.ts';

export interface Route {
  /** Resolves the names itself; null: none. */
  proxy: URL | null;
  /** For names that are resolved here; null: the system's. */
  lookup: Lookup | null;
}

const DNS_MS = 3000;
const DNS_TRIES = 2;

/** @throws AdapterError `config` for an address that can't be used: a program must not run without it */
export function routeOf(proxy: string | undefined, dns_addr: string | undefined): Route | null {
  if (proxy === undefined && dns_addr === undefined) return null;
  const url = proxy !== undefined && URL.canParse(proxy) ? new URL(proxy) : null;
  if (proxy !== undefined && (url === null || !/^https?:$/.test(url.protocol)))
    throw new AdapterError('config', 'egress_proxy is not an http or https URL');
  if (url !== null && !isEncoded(url.username + url.password))
    throw new AdapterError('config', 'egress_proxy: a % in its credentials is written %25');
  return { proxy: url, lookup: dns_addr === undefined ? null : lookupAt(dns_addr) };
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function lookupAt(dns_addr: string): Lookup {
  const resolver = new Resolver({ timeout: DNS_MS, tries: DNS_TRIES });
  try {
    resolver.setServers([dns_addr]);
  } catch {
    throw new AdapterError('config', 'egress_dns_addr is not the address of a name server');
  }
  return callbackify(async (hostname: string): Promise<LookupAddress[]> => {
    const asked = [resolver.resolve4(hostname), resolver.resolve6(hostname)];
    const answers = await Promise.allSettled(asked);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length === 0) throw new Error(`${hostname} could not be resolved`);
    return found.map((address) => ({ address, family: isIP(address) }));
  });
}

/** Where the proxy is, and the headers that it wants. */
interface ProxyRequest extends Pick<RequestOptions, 'host' | 'port' | 'lookup'> {
  login: Record<string, string>;
}

/** Options of a request that the proxy is to forward. */
export function throughProxy(proxy: URL, { lookup }: Pick<Route, 'lookup'>): ProxyRequest {
  const { username, password, hostname, port, protocol } = proxy;
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  return {
    host: hostname.replaceAll(/^\[|\]$/g, ''),
    port: port || (protocol === 'https:' ? 443 : 80),
    login: username === '' ? {} : { 'proxy-authorization': `Basic ${login.toString('base64')}` },
    ...(lookup !== null && {
      lookup: (name, options, done) =>
        lookup(name, (error, addresses) => {
          if (error !== null || options.all === true) return done(error, addresses);
          return done(null, addresses[0]!.address, addresses[0]!.family);
        }),
    }),
  };
}

export const requestTo = (proxy: URL): typeof requestHttp =>
  proxy.protocol === 'https:' ? requestTls : requestHttp;

/** A tunnel through the proxy. @throws EgressError if the proxy refuses it */
export async function tunnelThrough(
  proxy: URL,
  route: Pick<Route, 'lookup'>,
  { host, port }: EgressPlace,
  { timeout, signal }: { timeout: number; signal: AbortSignal },
): Promise<Duplex> {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { login, ...to } = throughProxy(proxy, route);
  const asked = requestTo(proxy)({
    ...to,
    method: 'CONNECT',
    path: target,
    headers: { ...login, host: target },
    agent: false,
    timeout,
    signal,
  });
  return new Promise((done, failed) => {
    asked.once('timeout', () => asked.destroy(new Error('the proxy does not answer')));
    asked.once('error', failed);
    asked.once('connect', (answer, socket, head) => {
      const { statusCode = 0 } = answer;
      if (statusCode >= 200 && statusCode < 300) {
        if (head.length > 0) socket.unshift(head);
        return done(socket);
      }
      socket.destroy();
      const isRefusal = statusCode >= 400 && statusCode < 500;
      return failed(
        isRefusal
          ? new EgressError(host, 'the proxy does not allow it')
          : new Error(`the proxy answered ${statusCode}`),
      );
    });
    asked.end();
  });
}
