/** Maps errors to HTTP: each kind has one status, the body is `{"error": message}`, and a defect reveals nothing. */
import type { EndpointRow } from '@acp/contract';
import { asServiceError } from '@acp/db';
import { httpStatusOf, invalid, ServiceError, tooLarge, unsupported } from '@acp/kernel';
import type { Logger, Said } from '@acp/kernel';
import type { ErrorRequestHandler, Request, Response } from 'express';
import type { ServerResponse } from 'node:http';
import { sendJson } from './answer.ts';
import { sendRowError } from './row-errors.ts';
import { sendError, setErrorHeaders } from './send-error.ts';
import { sendToLogin, showsPage, wantsPage } from './to-login.ts';

/** The part of an error that the caller may see; null for a defect of ours. */
export function publicError(error: unknown): ServiceError | null {
  if (error instanceof ServiceError) return error;
  // Bad percent-encoding in a path.
  if (error instanceof URIError) return invalid('malformed URL');
  return asServiceError(error) ?? bodyError(error);
}

/** Errors of the body parser carry a status; its messages quote the body, so they are not passed on. */
function bodyError(error: unknown): ServiceError | null {
  if (!(error instanceof Error) || !('status' in error)) return null;
  if (error.status === 413) return tooLarge('payload too large');
  if (error.status === 415) return unsupported('unsupported encoding of the body');
  if (error.status !== 400) return null;
  const isJson = 'type' in error && error.type === 'entity.parse.failed';
  return invalid(isJson ? 'malformed JSON' : 'malformed body');
}

/** What a page says about a refused request. */
export interface Refusal {
  status: number;
  message: string;
  /** The message with its values apart. */
  said?: Said;
  retry_after_sec?: number | undefined;
}

export type RefuseInPage = (refused: Refusal, request: Request, response: Response) => Promise<void>;

export const refusalOf = ({ kind, message, said, retry_after_sec }: ServiceError): Refusal => ({
  status: httpStatusOf(kind),
  message,
  said,
  retry_after_sec,
});

const DEFECT: Refusal = { status: 500, message: 'internal error' };

// An unavailable database fails every request: one line a second says as much as a thousand.
const UNAVAILABLE_LOG_EVERY_MS = 1000;

/** The last middleware, and the only place that logs errors of requests. */
export function errorHandler(logger: Logger, refuseInPage?: RefuseInPage): ErrorRequestHandler {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (error: unknown, request, response, _next) => {
    // There is no one to answer, and nothing went wrong here.
    if (hungUp(error, response)) return;
    const known = publicError(error);
    const where = { method: request.method, path: pathOf(request.originalUrl) };
    if (known === null) {
      logger.error('a request failed', { ...where, error });
    } else if (known.kind === 'unavailable' && performance.now() - loggedAt > UNAVAILABLE_LOG_EVERY_MS) {
      loggedAt = performance.now();
      logger.warn('a dependency was unavailable', { ...where, error: known });
    }
    if (sendRowError(response.locals.errors as EndpointRow['errors'], known, request, response)) return;
    if (response.headersSent) {
      // Too late for a status: a closed connection shows the client that the answer is incomplete.
      response.destroy();
    } else if (known?.kind === 'unauthenticated' && wantsPage(request)) {
      sendToLogin(request, response);
    } else if (refuseInPage !== undefined && showsPage(request)) {
      if (known !== null) setErrorHeaders(response, known);
      return refuseInPage(known === null ? DEFECT : refusalOf(known), request, response).catch(
        (failure: unknown) => {
          logger.error('a refusal could not be shown', { ...where, error: failure });
          response.destroy();
        },
      );
    } else if (known === null) {
      sendJson(response, 500, '{"error":"internal error"}');
    } else {
      sendError(response, known);
    }
  };
}

const hangUps = new Set([
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_UNABLE_TO_PIPE',
  'ERR_STREAM_DESTROYED',
]);

/** Whether the client left before it had its answer. An error of a dependency has no closed response. */
function hungUp(error: unknown, response: ServerResponse): boolean {
  if (!(error instanceof Error) || !response.destroyed || response.writableFinished) return false;
  return error.name === 'AbortError' || ('code' in error && hangUps.has(String(error.code)));
}

/**
 * For logs: without the query string, which may contain a token (decisions 7.42), and without an invite's token or the address of a
 * trigger, by which alone anyone fires one that is not signed.
 */
export function pathOf(url: string): string {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  return path.replace(/\/(invites|routine-triggers\/public)\/[^/]+/, '/$1/…');
}
