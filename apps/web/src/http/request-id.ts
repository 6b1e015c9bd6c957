import { newId, requestContext } from '@acp/kernel';
import type { RequestHandler } from 'express';

// What a client or proxy may call its request: it goes into a header and into every log line.
const sane = /^[\w.:-]{1,128}$/;

/** Names the request, in the answer and in every log line that it causes. */
export const requestId: RequestHandler = (request, response, next) => {
  const given = request.headers['x-request-id'];
  const id = typeof given === 'string' && sane.test(given) ? given : newId();
  response.setHeader('X-Request-Id', id);
  requestContext.run({ request_id: id }, next);
};
