/** Requests per minute and client address (specification, Limits), counted by each process separately (decisions 7.44). */
import { clientAddress, rateLimited } from '@acp/kernel';
import type { Config, TrustedProxies } from '@acp/kernel';
import type { Request, RequestHandler } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import type { ClientRateLimitInfo, Store } from 'express-rate-limit';
import type { Socket } from 'node:net';
import { HEALTH_PATHS } from '../health/paths.ts';

const WINDOW_MS = 60_000;
// An attacker with many addresses must not exhaust the memory; about 10 MB.
const MAX_CLIENTS = 50_000;
// The owner of an IPv6 address has the /64 around it.
const IPV6_PREFIX = 64;

/** Static files, and the routes for worker keys: a fleet behind one address is no attack (decisions 7.44). */
export function isUncounted({ path }: Request): boolean {
  if (path.startsWith('/static/')) return true;
  return path.startsWith('/api/workers/') && path !== '/api/workers/register';
}

/**
 * Undefined if the limit is switched off. Probes are counted apart: a busy client at their address would otherwise have the process
 * restarted.
 * @param skip requests that are not counted; default: none
 */
export function rateLimiter(
  { rate_limit_rpm, trusted_proxies }: Pick<Config, 'rate_limit_rpm' | 'trusted_proxies'>,
  skip: (request: Request) => boolean = () => false,
): RequestHandler | undefined {
  if (rate_limit_rpm === 0) return undefined;
  return rateLimit({
    windowMs: WINDOW_MS,
    limit: rate_limit_rpm,
    store: new ClientWindows(),
    keyGenerator: (request) => {
      const client = rateLimitKey(request, trusted_proxies);
      return HEALTH_PATHS.includes(request.path) ? `probe ${client}` : client;
    },
    skip,
    handler: (request, _response, next) => next(exceeded(request)),
    legacyHeaders: false,
    standardHeaders: false,
    // Its checks concern Express's `trust proxy`, which stays off: addresses are determined by our own rule.
    validate: false,
  });
}

// Parsing an address is the most expensive part of counting, and a socket's peer never changes.
const keysBySocket = new WeakMap<Socket, string>();

function rateLimitKey({ socket, headers }: Request, trusted: TrustedProxies): string {
  const forwarded = headers['x-forwarded-for'];
  if (forwarded !== undefined && trusted.networks.length > 0) {
    return keyOf(socket, Array.isArray(forwarded) ? forwarded.join(',') : forwarded, trusted);
  }
  const known = keysBySocket.get(socket);
  if (known !== undefined) return known;
  const key = keyOf(socket, undefined, trusted);
  keysBySocket.set(socket, key);
  return key;
}

function keyOf(socket: Socket, forwarded: string | undefined, trusted: TrustedProxies): string {
  const address = clientAddress(socket.remoteAddress, forwarded, trusted);
  return address === '' ? 'unknown' : ipKeyGenerator(address, IPV6_PREFIX);
}

function exceeded(request: Request) {
  const info = 'rateLimit' in request ? (request.rateLimit as ClientRateLimitInfo | undefined) : undefined;
  const resetAt = info?.resetTime?.getTime() ?? Date.now() + WINDOW_MS;
  return rateLimited('rate limit exceeded', Math.ceil((resetAt - Date.now()) / 1000));
}

interface Window {
  totalHits: number;
  readonly resetTime: Date;
}

/** Fixed windows in insertion order, oldest first, so that expired ones are at the front. */
export class ClientWindows implements Store {
  readonly localKeys = true;
  readonly #windows = new Map<string, Window>();
  readonly #max: number;

  constructor(max = MAX_CLIENTS) {
    this.#max = max;
  }

  get size(): number {
    return this.#windows.size;
  }

  increment(key: string): Window {
    const now = Date.now();
    const known = this.#windows.get(key);
    if (known && known.resetTime.getTime() > now) {
      known.totalHits += 1;
      return known;
    }
    this.#windows.delete(key);
    this.#makeRoom(now);
    const fresh = { totalHits: 1, resetTime: new Date(now + WINDOW_MS) };
    this.#windows.set(key, fresh);
    return fresh;
  }

  decrement(key: string): void {
    const known = this.#windows.get(key);
    if (known) known.totalHits -= 1;
  }

  resetKey(key: string): void {
    this.#windows.delete(key);
  }

  #makeRoom(now: number): void {
    for (const [key, { resetTime }] of this.#windows) {
      if (resetTime.getTime() > now && this.#windows.size < this.#max) return;
      this.#windows.delete(key);
    }
  }
}
