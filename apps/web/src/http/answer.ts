import type { ServerResponse } from 'node:http';
import type { Answer } from './idempotency.ts';

/**
 * Sends JSON that is already text. Not `response.json`: Express hashes every body for an ETag, and answers of the API
 * are never cached.
 */
export function sendJson(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

/** What a handler answered, or answered once to the same request. */
export function sendAnswer(response: ServerResponse, answer: Answer): void {
  if (answer.replayed) response.setHeader('Idempotency-Replayed', 'true');
  if (answer.text === undefined) {
    response.statusCode = answer.status;
    response.end();
  } else {
    sendJson(response, answer.status, answer.text);
  }
}
