import type { ServiceError } from '@acp/kernel';
import type { ServerResponse } from 'node:http';

/** What an error says beside its body, whichever protocol that is in. */
export function setErrorHeaders(response: ServerResponse, error: ServiceError): void {
  if (error.retry_after_sec !== undefined) {
    response.setHeader('Retry-After', Math.max(1, Math.ceil(error.retry_after_sec)));
  }
  if (error.allow !== undefined) response.setHeader('Allow', error.allow.join(', '));
  if (error.kind === 'unauthenticated') response.setHeader('WWW-Authenticate', 'Bearer');
}
