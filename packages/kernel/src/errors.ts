/**
 * The one error class that crosses layers. Every door (HTTP, action verbs, MCP …) maps the closed list of kinds
 * once; anything that is not a ServiceError is a defect or a lost dependency, and its message is never shown.
 */
import { inWords, type Said, saidText } from './said.ts';

export const errorKinds = [
  'invalid',
  'unauthenticated',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'conflict',
  'too_large',
  'unsupported',
  'rate_limited',
  'unavailable',
] as const;

export type ErrorKind = (typeof errorKinds)[number];

const statusByKind: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unsupported: 415,
  rate_limited: 429,
  unavailable: 503,
};

interface ServiceErrorOptions {
  /** Further JSON fields of the error body besides `error`. Public: never put a secret here. */
  extra?: Record<string, unknown>;
  /** Seconds after which a retry may succeed; sent over HTTP as `Retry-After`. */
  retry_after_sec?: number;
  /** Methods that the path supports; sent over HTTP as `Allow`. */
  allow?: readonly string[];
  /** The original error; logged at the edge, never shown. */
  cause?: unknown;
}

export class ServiceError extends Error {
  readonly kind: ErrorKind;
  /** The message with its values apart, for pages in another language. */
  readonly said: Said;
  readonly extra?: Record<string, unknown>;
  readonly retry_after_sec?: number;
  readonly allow?: readonly string[];

  constructor(kind: ErrorKind, message: string | Said, options: ServiceErrorOptions = {}) {
    super(inWords(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.kind = kind;
    this.said = typeof message === 'string' ? saidText(message) : message;
    this.extra = options.extra;
    this.retry_after_sec = options.retry_after_sec;
    this.allow = options.allow;
  }
}

/** The HTTP status of a kind: one table for the API, the pages and the documentation (docs/http-status). */
export function httpStatusOf(kind: ErrorKind): number {
  return statusByKind[kind];
}

type Extra = Record<string, unknown>;

export const notFound = (message: string | Said = 'not found') => new ServiceError('not_found', message);

export const forbidden = (message: string | Said = 'forbidden') => new ServiceError('forbidden', message);

export const unauthenticated = (message: string | Said = 'unauthenticated') =>
  new ServiceError('unauthenticated', message);

export const conflict = (message: string | Said, extra?: Extra) =>
  new ServiceError('conflict', message, { extra });

export const invalid = (message: string | Said, extra?: Extra) =>
  new ServiceError('invalid', message, { extra });

export const tooLarge = (message: string | Said) => new ServiceError('too_large', message);

export const unsupported = (message: string | Said) => new ServiceError('unsupported', message);

export const rateLimited = (message: string | Said, retryAfterSec: number) =>
  new ServiceError('rate_limited', message, { retry_after_sec: retryAfterSec });

export const unavailable = (message: string | Said, cause?: unknown, retryAfterSec?: number) =>
  new ServiceError('unavailable', message, { cause, retry_after_sec: retryAfterSec });

export const methodNotAllowed = (allow: readonly string[]) =>
  new ServiceError('method_not_allowed', 'method not allowed', { allow });
