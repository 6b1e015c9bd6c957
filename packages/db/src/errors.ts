import { invalid, notFound, ServiceError, unavailable } from '@acp/kernel';

interface DriverError {
  code?: unknown;
  constraint?: unknown;
  message?: unknown;
  detail?: unknown;
  cause?: unknown;
}

/** What PostgreSQL says of a statement behind a failed one in its transaction. */
export const SKIPPED = '25P02';

// drizzle wraps what pg threw, and pg-pool wraps what the socket threw, so the facts are somewhere down the cause chain.
function* causes(err: unknown): Generator<DriverError> {
  let current: unknown = err;
  for (let depth = 0; depth < 8 && typeof current === 'object' && current !== null; depth += 1) {
    const link = current as DriverError;
    yield link;
    current = link.cause;
  }
}

/** Whether the error, or one that led to it, passes the test. */
export function someCause(err: unknown, test: (link: DriverError) => boolean): boolean {
  for (const link of causes(err)) if (test(link)) return true;
  return false;
}

/** For callers turned away because the database was down or busy. */
const RETRY_AFTER_SEC = 2;

const connectionCodes = new Set([
  // socket
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // a statement was written to a connection that was just lost
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  // server: shutting down, crashed, starting up, out of connections
  '57P01',
  '57P02',
  '57P03',
  '53300',
  // the server ended a session, or a transaction, that was idle or took too long
  '57P05',
  '25P03',
  '25P04',
  // a standby that is not promoted yet, or a primary that no longer is one
  '25006',
]);

// Of a connection to the server itself, whose limits are parameters of its start.
const POOLER_REFUSES = 'unsupported startup parameter';
const STALE_PLAN = 'cached plan must not change result type';
const connectionMessages = [
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
  'timeout exceeded when trying to connect',
  // The server, or a pooler whose server is away, accepted the connection and then said nothing.
  'timeout expired',
  'There was an error establishing an SSL connection',
  'server conn crashed',
  'server closed the connection unexpectedly',
  // A newer release has changed a table under a prepared statement; a new connection plans it again.
  STALE_PLAN,
];

/** The statement was refused before it did anything. */
export function isStalePlan(err: unknown): boolean {
  return someCause(err, ({ message }) => typeof message === 'string' && message.startsWith(STALE_PLAN));
}

/** True when the database could not be reached or the connection broke, so the statement itself may be fine. */
export function isConnectionError(err: unknown): boolean {
  return someCause(
    err,
    ({ code, message }) =>
      (typeof code === 'string' && (connectionCodes.has(code) || code.startsWith('08'))) ||
      (typeof message === 'string' && connectionMessages.some((part) => message.startsWith(part))),
  );
}

function hasCode(err: unknown, ...codes: string[]): boolean {
  return someCause(err, ({ code }) => typeof code === 'string' && codes.includes(code));
}

/** The statement was not even looked at, because one before it in its transaction had failed. */
export function isSkipped(err: unknown): boolean {
  return hasCode(err, SKIPPED);
}

export function isUniqueViolation(err: unknown, constraint?: string): boolean {
  for (const link of causes(err)) {
    if (link.code === '23505') return constraint === undefined || link.constraint === constraint;
  }
  return false;
}

/**
 * The row references one that was deleted while the statement waited for it: a command checks what it uses, and the
 * foreign key catches a deletion that commits after the check. Deleting a row that is still referenced is a bug.
 */
function refersToDeleted(err: unknown): boolean {
  for (const { code, detail } of causes(err)) {
    if (code === '23503') return typeof detail !== 'string' || !detail.includes('still referenced');
  }
  return false;
}

/** The table or its schema does not exist yet: before the first migration. */
export function isMissingTable(err: unknown): boolean {
  return hasCode(err, '42P01', '3F000');
}

/**
 * The error a caller may see for a database failure; null for an unknown one (a bug on our side).
 * A NUL character is valid JSON but not valid text in PostgreSQL, so it surfaces here as an error in the caller's input.
 */
export function asServiceError(err: unknown): ServiceError | null {
  for (const link of causes(err)) if (link instanceof ServiceError) return link;
  if (someCause(err, ({ message }) => typeof message === 'string' && message.startsWith(POOLER_REFUSES)))
    return unavailable('DATABASE_URL is a pooler’s: set DATABASE_DIRECT_URL to the server’s own', err);
  if (isConnectionError(err)) return unavailable('database unavailable', err, RETRY_AFTER_SEC);
  if (hasCode(err, '40P01', '40001', '55P03', '57014') || isOutOfRoom(err))
    return unavailable('database busy', err, RETRY_AFTER_SEC);
  if (hasCode(err, '22021', '22P05')) return withCause(invalid('invalid character in text'), err);
  if (refersToDeleted(err)) return withCause(notFound(), err);
  return null;
}

/** The server's disk, memory or one of its limits is exhausted. */
function isOutOfRoom(err: unknown): boolean {
  return someCause(err, ({ code }) => typeof code === 'string' && code.startsWith('53'));
}

/** Someone else held a lock for too long. */
export function isLockTimeout(err: unknown): boolean {
  return hasCode(err, '55P03');
}

/** The transaction and others waited for each other, and this one was chosen to be undone. */
export function isDeadlock(err: unknown): boolean {
  return hasCode(err, '40P01');
}

/** The database was reachable and rejected the input; other input may still be accepted. */
export function isRefusal(err: unknown): boolean {
  return asServiceError(err)?.kind !== 'unavailable';
}

function withCause(error: ServiceError, cause: unknown): ServiceError {
  error.cause = cause;
  return error;
}
