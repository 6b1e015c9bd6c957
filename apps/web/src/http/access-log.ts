import type { Logger } from '@acp/kernel';
import type { RequestHandler } from 'express';
import { pathOf } from './errors.ts';

/** Logs one debug line per request, without its query string (decisions 7.42). Failures are logged where they are answered. */
export function accessLog(logger: Logger): RequestHandler {
  return (request, response, next) => {
    const startedAt = performance.now();
    const { method, originalUrl } = request;
    response.once('close', () => {
      logger.debug('request', {
        method,
        path: pathOf(originalUrl),
        status: response.statusCode,
        duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
        // The client left before the answer was complete.
        aborted: response.writableFinished ? undefined : true,
      });
    });
    next();
  };
}
