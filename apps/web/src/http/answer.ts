import type { ServerResponse } from 'node:http';
import type { Answer } from './idempotency.ts';

/**
 * Sends JSON that is already serialised. Not `response.json`: Express hashes every body for an ETag, and the API's answers
 * are never cached.
 */
export function sendJson(response: ServerResponse, status: number, text: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

/** Sends a handler's answer, or the one remembered for the same request. */
export function sendAnswer(response: ServerResponse, answer: Answer): void {
  if (answer.replayed) response.setHeader('Idempotency-Replayed', 'true');
  if (answer.text === undefined) {
    response.statusCode = answer.status;
    response.end();
  } else {
    sendJson(response, answer.status, answer.text);
  }
}
