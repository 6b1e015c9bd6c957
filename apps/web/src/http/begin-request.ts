import { notFound } from '@acp/kernel';
import express, { type Express, type RequestHandler } from 'express';
import { measureRequests } from './http-metrics.ts';
import { requestId } from './request-id.ts';
import { traceRequests } from './trace-requests.ts';

/** What every request begins with: a name, the clock, and its place in a trace. */
export const beginRequest = [requestId, measureRequests, traceRequests];

/** What every process's application begins with. */
export function bareApp(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // Addresses behind proxies are found by our own rule (SERVICE_TRUSTED_PROXIES).
  app.set('trust proxy', false);
  app.set('query parser', 'simple');
  return app;
}

export const unknownPath: RequestHandler = () => {
  throw notFound();
};
