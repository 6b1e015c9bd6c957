/** Identifies the caller (specification, Authentication): session before bearer, and only kinds that the row admits. */
import type { Actor, AuthKind, EndpointRow, UserActor, WorkerActor } from '@acp/contract';
import type { SignInPlace } from '@acp/core';
import { forbidden, said, saidValue, unauthenticated } from '@acp/kernel';
import type { IncomingMessage } from 'node:http';
import { KEY_COOKIE, readCookie, SESSION_COOKIE } from './cookies.ts';
import type { Credentials } from './credentials.ts';

export const INVALID_KEY = 'invalid api key';

interface AuthenticateOptions {
  /** The request's origin, for the security log. */
  place: () => SignInPlace;
  /** `Bearer <token>` from the query string, for the one row that accepts it (live stream). */
  query_token: string | undefined;
  /** Read the caller from the database: see `needsFreshCaller`. */
  fresh: boolean;
}

/** Throws 401 without a valid credential of a kind that the row admits. */
export async function authenticate(
  credentials: Credentials,
  request: IncomingMessage,
  row: EndpointRow,
  { place, query_token, fresh }: AuthenticateOptions,
): Promise<Actor> {
  // A session that the row does not accept must not block a key either.
  if (row.auth.includes('user')) {
    const token = readCookie(request, SESSION_COOKIE);
    const user = token === undefined ? undefined : await credentials.session(token, fresh);
    if (user) return admitted(user, row);
  }
  const key = bearerToken(request.headers.authorization ?? query_token) ?? promotedKey(request);
  if (key === undefined) throw unauthenticated();
  // Worker keys open worker routes only, and nothing else opens those (specification, Authentication 3).
  if (row.auth.includes('worker')) return admittedWorker(await credentials.worker(key));
  const actor = await credentials.bearer(key, place().address, fresh);
  if (actor === undefined) throw unauthenticated(INVALID_KEY);
  if (!row.auth.some((kind) => kind === actor.kind)) throw unauthenticated(refusal(row.auth));
  return actor;
}

/**
 * Whether a change is so powerful that its caller is read from the database: another process that has just revoked a key, or
 * demoted or removed a person, must not be outrun by an act that outlives it, such as minting a key.
 */
export const needsFreshCaller = (row: EndpointRow): boolean =>
  row.method !== 'GET' &&
  (row.role === 'admin' || row.role === 'instance_admin' || row.issues_secret !== undefined);

function admitted(user: Actor, row: EndpointRow): Actor {
  if (!row.while_enrolling) assertEnrolled(user);
  return user;
}

/** A user who lacks a required second factor must set one up first. @throws forbidden */
export function assertEnrolled(user: Actor): void {
  if (user.kind === 'user' && user.must_enrol)
    throw forbidden('a second factor is required: set one up first');
}

/** A draining worker may finish what it has begun. @throws forbidden for a worker that may not work */
function admittedWorker(worker: WorkerActor | undefined): WorkerActor {
  if (worker === undefined) throw unauthenticated(INVALID_KEY);
  if (worker.status !== 'approved' && worker.status !== 'draining')
    throw forbidden(said`worker is ${saidValue(worker.status)}`);
  return worker;
}

/** The session's user, if any, for pages and routes that also serve strangers. */
export async function sessionUser(
  credentials: Credentials,
  request: IncomingMessage,
  fresh = false,
): Promise<UserActor | undefined> {
  const token = readCookie(request, SESSION_COOKIE);
  const actor = token === undefined ? undefined : await credentials.session(token, fresh);
  return actor?.kind === 'user' ? actor : undefined;
}

export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +([^\s]+) *$/i.exec(header)?.[1];
}

// A malformed header is refused: the cookie only replaces a missing one.
function promotedKey(request: IncomingMessage): string | undefined {
  return request.headers.authorization === undefined ? readCookie(request, KEY_COOKIE) : undefined;
}

function refusal(kinds: readonly AuthKind[]): string {
  if (kinds.length === 1 && kinds[0] !== 'worker') return `not authenticated as ${kinds[0]}`;
  return INVALID_KEY;
}
