import { invalid, notFound, ServiceError, unavailable } from '@acp/kernel';

interface DriverError {
  code?: unknown;
  constraint?: unknown;
  message?: unknown;
  detail?: unknown;
  cause?: unknown;
}

// drizzle wraps what pg threw, and pg-pool wraps what the socket threw: the facts are somewhere down the chain.
function* causes(err: unknown): Generator<DriverError> {
  let current: unknown = err;
  for (let depth = 0; depth < 8 && typeof current === 'object' && current !== null; depth += 1) {
    const link = current as DriverError;
    yield link;
    current = link.cause;
  }
}

/** For callers that were refused because the database was away or busy. */
const RETRY_AFTER_SEC = 2;

const connectionCodes = new Set([
  // the socket
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EHOSTUNREACH',
  // the server: shutting down, crashed, starting up, out of connections
  '57P01',
  '57P02',
  '57P03',
  '53300',
  // the server ended a transaction that had said nothing for too long
  '25P03',
]);

const connectionMessages = [
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
  'timeout exceeded when trying to connect',
  'server conn crashed',
  'server closed the connection unexpectedly',
  // A newer release has changed a table under a prepared statement: a new connection plans it anew.
  'cached plan must not change result type',
];

/** True when the database could not be reached or the connection broke: nothing is known to be wrong with the statement. */
export function isConnectionError(err: unknown): boolean {
  for (const { code, message } of causes(err)) {
    if (typeof code === 'string' && (connectionCodes.has(code) || code.startsWith('08'))) return true;
    if (typeof message === 'string' && connectionMessages.some((part) => message.startsWith(part)))
      return true;
  }
  return false;
}

function hasCode(err: unknown, ...codes: string[]): boolean {
  for (const { code } of causes(err)) if (typeof code === 'string' && codes.includes(code)) return true;
  return false;
}

export function isUniqueViolation(err: unknown, constraint?: string): boolean {
  for (const link of causes(err)) {
    if (link.code === '23505') return constraint === undefined || link.constraint === constraint;
  }
  return false;
}

/**
 * The row refers to one that was deleted while the statement waited for it: a command checks what it uses, and the
 * foreign key catches the deletion that commits after the check. A deletion that rows still refer to is a bug.
 */
function refersToDeleted(err: unknown): boolean {
  for (const { code, detail } of causes(err)) {
    if (code === '23503') return typeof detail !== 'string' || !detail.includes('still referenced');
  }
  return false;
}

/** The table or its schema is not there: before the first migration. */
export function isMissingTable(err: unknown): boolean {
  return hasCode(err, '42P01', '3F000');
}

/**
 * What a caller may be told about a failure of the database; null when it is none of the known ones (a bug of ours).
 * A NUL character is valid JSON but no text of PostgreSQL, so it reaches us as an error of the caller's input.
 */
export function asServiceError(err: unknown): ServiceError | null {
  for (const link of causes(err)) if (link instanceof ServiceError) return link;
  if (isConnectionError(err)) return unavailable('database unavailable', err, RETRY_AFTER_SEC);
  if (hasCode(err, '40P01', '40001', '55P03', '57014'))
    return unavailable('database busy', err, RETRY_AFTER_SEC);
  if (hasCode(err, '22021', '22P05')) return withCause(invalid('invalid character in text'), err);
  if (refersToDeleted(err)) return withCause(notFound(), err);
  return null;
}

/** Somebody else held a lock for too long. */
export function isLockTimeout(err: unknown): boolean {
  return hasCode(err, '55P03');
}

/** The database was there and did not take what it was given: something else may still be taken. */
export function isRefusal(err: unknown): boolean {
  return asServiceError(err)?.kind !== 'unavailable';
}

function withCause(error: ServiceError, cause: unknown): ServiceError {
  error.cause = cause;
  return error;
}
