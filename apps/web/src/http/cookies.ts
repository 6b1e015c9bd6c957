import type { IncomingMessage } from 'node:http';

/** Opaque token of a browser session (specification, Authentication 4). */
export const SESSION_COOKIE = 'service_session';
/** An API key stored in a browser; it stands in for a missing `Authorization` header. */
export const KEY_COOKIE = 'service_key';

/** Binds a sign-in at a provider to the browser that began it; valid for minutes, and spent by the provider's answer. */
export const OAUTH_COOKIE = 'service_oauth';

/** A sign-in that is waiting for its second step. */
export const SIGN_IN_COOKIE = 'service_sign_in';

/** Names of the sections that this browser has left open, written by the pages' script. */
export const SECTIONS_COOKIE = 'service_sections';

/** The value of one cookie; undefined if absent or empty. Our own cookies need no decoding. */
export function readCookie(request: IncomingMessage, name: string): string | undefined {
  const header = request.headers.cookie;
  if (header === undefined) return undefined;
  for (const part of header.split(';')) {
    const equals = part.indexOf('=');
    if (equals > 0 && part.slice(0, equals).trim() === name) {
      return part.slice(equals + 1).trim() || undefined;
    }
  }
  return undefined;
}
