import { httpStatusOf, type ServiceError } from '@acp/kernel';
import type { ServerResponse } from 'node:http';
import { sendJson } from './answer.ts';

/** The API's body of an error (specification, Errors). */
export function sendError(response: ServerResponse, error: ServiceError): void {
  setErrorHeaders(response, error);
  sendJson(response, httpStatusOf(error.kind), JSON.stringify({ error: error.message, ...error.extra }));
}

/** Sets an error's headers, whatever the protocol of the body. */
export function setErrorHeaders(response: ServerResponse, error: ServiceError): void {
  if (error.retry_after_sec !== undefined) {
    response.setHeader('Retry-After', Math.max(1, Math.ceil(error.retry_after_sec)));
  }
  if (error.allow !== undefined) response.setHeader('Allow', error.allow.join(', '));
  if (error.kind === 'unauthenticated') response.setHeader('WWW-Authenticate', 'Bearer');
}
