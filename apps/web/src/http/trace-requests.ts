import { isTracing, measure, openSpan, type TraceAttributes } from '@acp/kernel';
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
    const { name, attributes } = outcomeOf(method, operationOf(response), statusCode);
    span.rename(name);
    span.set(attributes);
    if (statusCode >= 500) span.fail(String(statusCode));
    span.end();
    if (response.locals.streams !== true)
      measure('http.server.request.duration', (performance.now() - began) / 1000, attributes);
  });
  span.within(next);
};

interface Outcome {
  readonly name: string;
  readonly attributes: TraceAttributes;
}

const outcomes = new Map<string, Outcome>();
/** More than all operations have in methods and statuses. */
const MAX_OUTCOMES = 10_000;

/** The same objects for each request that ends like this. */
function outcomeOf(method: string, operation: string, status: number): Outcome {
  const key = `${status} ${method} ${operation}`;
  const known = outcomes.get(key);
  if (known) return known;
  const outcome = {
    name: `${method} ${operation}`,
    attributes: Object.freeze({
      'http.request.method': method,
      'http.route': operation,
      'http.response.status_code': status,
    }),
  };
  if (outcomes.size < MAX_OUTCOMES) outcomes.set(key, outcome);
  return outcome;
}
