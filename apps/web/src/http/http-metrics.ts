import type { RequestHandler, Response } from 'express';
import { Counter, Histogram, register } from 'prom-client';

const NAMES = { requests: 'service_http_requests_total', duration: 'service_http_request_duration_seconds' };

// Several apps in one process (tests) share the process's registry.
const requests =
  (register.getSingleMetric(NAMES.requests) as Counter | undefined) ??
  new Counter({
    name: NAMES.requests,
    help: 'Requests by operation and class of status',
    labelNames: ['operation', 'status'],
  });
const duration =
  (register.getSingleMetric(NAMES.duration) as Histogram | undefined) ??
  new Histogram({
    name: NAMES.duration,
    help: 'Time until the answer was complete, streams left out',
    labelNames: ['operation'],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.3, 1, 3, 10],
  });

/**
 * The request's name in metrics and spans: the operation of the endpoint table, a kind of page, or neither. Never a path:
 * their number is unlimited.
 */
export const operationOf = ({ locals }: Response): string =>
  (locals.operation as string | undefined) ?? 'other';

/** Rate, errors and duration of requests, by operation. */
export const measureRequests: RequestHandler = (_request, response, next) => {
  const began = performance.now();
  response.once('close', () => {
    const operation = operationOf(response);
    requests.inc({ operation, status: `${Math.floor(response.statusCode / 100)}xx` });
    // Streams last as long as someone reads them.
    if (response.locals.streams !== true) duration.observe({ operation }, (performance.now() - began) / 1000);
  });
  next();
};
