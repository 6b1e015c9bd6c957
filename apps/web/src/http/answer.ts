import type { ServerResponse } from 'node:http';

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
