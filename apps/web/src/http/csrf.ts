/**
 * Refuses cross-site requests that use a cookie (decisions 1). No token is needed: browsers send a request's origin, and
 * scripts, which don't, never send cookies by accident.
 */
import { forbidden } from '@acp/kernel';
import type { TrustedProxies } from '@acp/kernel';
import type { RequestHandler } from 'express';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { KEY_COOKIE, readCookie, SESSION_COOKIE } from './cookies.ts';

interface OriginRule {
  public_url: string;
  trusted_proxies: TrustedProxies;
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** For every route: checks mutating requests that carry a session or key cookie. */
export function csrfGuard(rule: OriginRule): RequestHandler {
  return (request, _response, next) => {
    if (!safeMethods.has(request.method) && carriesCookie(request)) refuseCrossSite(request, rule);
    next();
  };
}

/** The rule itself, with or without a cookie: `POST /login` and `POST /logout` always apply it (decisions 7.4). Throws 403. */
export function refuseCrossSite(request: IncomingMessage, rule: OriginRule): void {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) {
    if (site !== 'same-origin' && site !== 'none') throw forbidden('cross-site request refused');
    return;
  }
  const { origin } = request.headers;
  if (origin !== undefined && !isOwnOrigin(origin, request, rule)) {
    throw forbidden('cross-site request refused');
  }
}

/**
 * For routes that programs call with a key: other sites' pages have no business there, and a host name may have been rebound
 * to this machine. The request's own host therefore counts only if it can't be rebound: an address, or localhost.
 */
export function ownOriginGuard({ public_url }: Pick<OriginRule, 'public_url'>): RequestHandler {
  return ({ headers }, _response, next) => {
    const { origin, host } = headers;
    if (origin !== undefined && !isTrustedOrigin(origin, host, public_url))
      throw forbidden('cross-site request refused');
    next();
  };
}

function isTrustedOrigin(text: string, host: string | undefined, public_url: string): boolean {
  if (!URL.canParse(text)) return false;
  const origin = new URL(text);
  if (origin.origin === new URL(public_url).origin) return true;
  const isNoName = origin.hostname === 'localhost' || isIP(origin.hostname.replace(/^\[|\]$/g, '')) !== 0;
  return isNoName && origin.host === host;
}

function carriesCookie(request: IncomingMessage): boolean {
  if (request.headers.cookie === undefined) return false;
  return readCookie(request, SESSION_COOKIE) !== undefined || readCookie(request, KEY_COOKIE) !== undefined;
}

function isOwnOrigin(text: string, request: IncomingMessage, rule: OriginRule): boolean {
  // A sandboxed page sends `null`, which is no one's origin.
  if (!URL.canParse(text)) return false;
  const origin = new URL(text);
  if (origin.origin === new URL(rule.public_url).origin) return true;
  const host = requestHost(request, rule.trusted_proxies);
  // Behind a proxy the scheme is up to the proxy: hosts are compared under the origin's own scheme, so that the default
  // port may be included or left out.
  const own = host === undefined ? '' : `${origin.protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === origin.host;
}

function requestHost(request: IncomingMessage, trusted: TrustedProxies): string | undefined {
  const forwarded = request.headers['x-forwarded-host'];
  if (typeof forwarded === 'string' && trusted.includes(request.socket.remoteAddress ?? '')) {
    // The nearest proxy appends, so its value is the last one.
    return forwarded.split(',').at(-1)?.trim();
  }
  return request.headers.host;
}
