import { notFound } from '@acp/kernel';
import express, { type Express, type RequestHandler } from 'express';
import { measureRequests } from './http-metrics.ts';
import { requestId } from './request-id.ts';
import { traceRequests } from './trace-requests.ts';

/** The first steps of every request: its id, metrics and tracing. */
export const beginRequest = [requestId, measureRequests, traceRequests];

/** The base of every process's application. */
export function bareApp(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // Client addresses behind proxies are determined by our own rule (SERVICE_TRUSTED_PROXIES).
  app.set('trust proxy', false);
  app.set('query parser', 'simple');
  return app;
}

export const unknownPath: RequestHandler = () => {
  throw notFound();
};
