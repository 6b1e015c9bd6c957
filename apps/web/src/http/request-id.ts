import { newId, requestContext } from '@acp/kernel';
import type { RequestHandler } from 'express';

// Request ids accepted from a client or proxy: they end up in a header and in every log line.
const sane = /^[\w.:-]{1,128}$/;

/** Assigns the request's id, for the answer and for every log line that it causes. */
export const requestId: RequestHandler = (request, response, next) => {
  const given = request.headers['x-request-id'];
  const id = typeof given === 'string' && sane.test(given) ? given : newId();
  response.setHeader('X-Request-Id', id);
  requestContext.run({ request_id: id }, next);
};
