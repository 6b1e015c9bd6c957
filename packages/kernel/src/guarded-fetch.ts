/**
 * `fetch` for URLs that tenants may choose, guarded against requests to places that only the server can reach (SSRF). The
 * guard sits where connections are made, so every redirect passes it again, and it connects to exactly the addresses that
 * it checked, so a name can't resolve differently the second time.
 */
import { createRequire } from 'node:module';
import { isIP, type LookupFunction } from 'node:net';
import type * as Undici from 'undici';
import type { buildConnector, Dispatcher } from 'undici';
import { isForbiddenAddress, type EgressPolicy } from './address-policy.ts';
import { type HostList, portOf } from './host-list.ts';
import { type Lookup, nameLookup } from './name-lookup.ts';

export interface GuardedFetchOptions {
  egress: EgressPolicy;
  /** Hosts (`name` or `name:port`) exempt from the `public` policy; metadata addresses stay refused. */
  allow_hosts?: readonly string[];
  /** The variable that lists them, for the words of a refusal. */
  allowed_in?: string;
  /** The only hosts that may be reached, redirects included: keeps a key from following a redirect elsewhere. */
  only_hosts?: readonly string[];
  /** Name resolution; by default that of the system's name servers. */
  lookup?: Lookup;
}

/** Loaded when a first request is made: it takes 6 MB, which a process that asks nobody has no use for. */
export const undici = (): typeof Undici => require('undici') as typeof Undici;
const require = createRequire(import.meta.url);

/** Can also be restricted to a list of hosts, sharing its connections with the unrestricted one. */
export type GuardedFetch = typeof fetch & {
  /** @param list applies to every redirect as well; null: no list */
  within(list: HostList | null): typeof fetch;
};

/** The request was refused before connecting; the message names the host, never the resolved address. */
export class EgressError extends Error {
  readonly host: string;

  constructor(host: string, reason: string) {
    super(`request to ${host} refused: ${reason}`);
    this.name = 'EgressError';
    this.host = host;
  }
}

/** The host is not on the list that applies to the request. */
export class NotListedError extends EgressError {
  readonly place: { host: string; port: number };

  constructor(host: string, port: number) {
    super(`${host}:${port}`, 'the company’s list of hosts does not have it');
    this.name = 'NotListedError';
    this.place = { host, port };
  }
}

/** Leaves an answer's body unread: it could be endless, and if it breaks off, that changes nothing about its status. */
export async function discardBody({ body }: Response): Promise<void> {
  await body?.cancel().catch(() => undefined);
}

/** Why a request failed, in words for the caller: never an address that a name resolved to. */
export function connectionFailure(error: unknown): string {
  if (error instanceof EgressError) return error.message;
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? `the connection failed: ${code}` : 'the connection failed';
}

/**
 * Creates a `fetch` that throws EgressError for a forbidden host or address. It has no idle or total timeout of its own; the
 * caller passes a signal. Each instance has its own connection pool, so create one and keep it.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  let made: Dispatcher | undefined;
  const agent = () =>
    (made ??= new (undici().Agent)({
      connect: guardedConnector(options),
      headersTimeout: 0,
      bodyTimeout: 0,
    }));
  const open = fetchThrough(agent);
  return Object.assign(open, {
    within(list: HostList | null) {
      if (list === null) return open;
      let held: Dispatcher | undefined;
      // Open connections are shared and not checked again when reused, so the list is enforced on every request.
      return fetchThrough(() => (held ??= agent().compose(heldTo(list))));
    },
  });
}

function heldTo(list: HostList): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const url = new URL(String(options.origin));
    if (list.coversUrl(url)) return dispatch(options, handler);
    throw new NotListedError(url.hostname, portOf(url));
  };
}

function fetchThrough(dispatcher: () => Dispatcher): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : input;
    const { body, headers, ...rest } = await portable(input, init);
    try {
      const sent = { ...rest, body, headers: [...new Headers(headers)], dispatcher: dispatcher() };
      return await undici().fetch(url, sent);
    } catch (error) {
      throw error instanceof TypeError && error.cause instanceof EgressError ? error.cause : error;
    }
  };
}

type PortableInit = Omit<RequestInit, 'body'> & { body?: Exclude<RequestInit['body'], FormData> };

// undici's classes are not the platform's: a Request or form is taken apart, and headers are passed as pairs.
async function portable(input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<PortableInit> {
  const { body, ...rest } = init;
  if (!(input instanceof Request) && !(body instanceof FormData)) return { ...rest, body };
  const request = new Request(input, init);
  const { method, headers, redirect, signal } = request;
  return { method, headers, redirect, signal, body: request.body ? await request.arrayBuffer() : null };
}

export function guardedConnector(options: GuardedFetchOptions): buildConnector.connector {
  const { egress, lookup = usualLookup, allowed_in } = options;
  const allowed = hostSet(options.allow_hosts ?? []);
  const only = options.only_hosts ? hostSet(options.only_hosts) : null;
  const { buildConnector } = undici();
  // Over HTTP/2 a request that is given up leaves its connection in use for the next ones, even if it is dead.
  const connector = (policy: EgressPolicy, hint?: string) =>
    buildConnector({ lookup: guardedLookup(policy, lookup, hint), allowH2: false });
  const connectors = { public: connector('public', allowed_in), any: connector('any') };
  return (target, done) => {
    const { hostname } = target;
    const names = [hostname, `${hostname}:${target.port || (target.protocol === 'https:' ? '443' : '80')}`];
    const isIn = (hosts: ReadonlySet<string>) => names.some((name) => hosts.has(name.toLowerCase()));
    if (only && !isIn(only)) return done(new EgressError(hostname, 'host is not allowed'), null);
    const policy = isIn(allowed) ? 'any' : egress;
    // The socket never looks up a literal, so it is checked here.
    if (isIP(hostname) !== 0 && isForbiddenAddress(hostname, policy)) {
      return done(new EgressError(hostname, `address is not allowed${remedy([hostname], allowed_in)}`), null);
    }
    connectors[policy](target, done);
  };
}

/** A lookup whose result is what the socket connects to; a name is refused if any of its addresses is forbidden. */
export function guardedLookup(
  policy: EgressPolicy,
  lookup: Lookup = usualLookup,
  allowed_in?: string,
): LookupFunction {
  return (hostname, wanted, done) => {
    lookup(hostname, (error, found) => {
      if (error) return done(error, []);
      const [first] = found;
      const addresses = found.map(({ address }) => address);
      if (!first || addresses.some((address) => isForbiddenAddress(address, policy))) {
        const reason = `it resolves to an address that is not allowed${remedy(addresses, allowed_in)}`;
        return done(new EgressError(hostname, reason), []);
      }
      if (wanted.all) done(null, found);
      else done(null, first.address, first.family);
    });
  };
}

/** What the operator could do: nothing where an address is refused whatever is listed. */
function remedy(addresses: readonly string[], allowed_in: string | undefined): string {
  const isLost = addresses.some((address) => isForbiddenAddress(address, 'any'));
  return allowed_in === undefined || isLost ? '' : `, unless the operator lists the host in ${allowed_in}`;
}

/** One for all: names wait for each other only there. */
const usualLookup = nameLookup();

// Brackets of IPv6 literals are dropped, as undici does with a target's host name.
function hostSet(hosts: readonly string[]): ReadonlySet<string> {
  return new Set(hosts.map((host) => host.toLowerCase().replace(/[[\]]/g, '')));
}
