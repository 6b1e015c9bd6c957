import { isTracing, measure, openSpan } from '@acp/kernel';
import type { RequestHandler } from 'express';
import { operationOf } from './http-metrics.ts';

/** Creates a span for each request, as a child of the caller's if it sends one. Does nothing unless tracing is on. */
export const traceRequests: RequestHandler = (request, response, next) => {
  if (!isTracing()) return next();
  const { method } = request;
  const began = performance.now();
  const { traceparent } = request.headers;
  const span = openSpan(method, {
    kind: 'server',
    parent: typeof traceparent === 'string' ? traceparent : null,
  });
  response.once('close', () => {
    const { statusCode } = response;
    const operation = operationOf(response);
    const told = {
      'http.request.method': method,
      'http.route': operation,
      'http.response.status_code': statusCode,
    };
    span.rename(`${method} ${operation}`);
    span.set(told);
    if (statusCode >= 500) span.fail(String(statusCode));
    span.end();
    if (response.locals.streams !== true)
      measure('http.server.request.duration', (performance.now() - began) / 1000, told);
  });
  span.within(next);
};
