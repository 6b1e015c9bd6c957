import type { Request, Response } from 'express';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { IDLE_MS } from './send-file.ts';

/**
 * Sends a file that is made while it is sent, no faster than the client reads: a log, a transcript. An error before its first byte is
 * thrown, and answered; a later one cuts the connection, and the client keeps what it has.
 * @param type its media type
 */
export async function sendLines(
  { request, response }: { request: Request; response: Response },
  { filename, type }: { filename: string; type: string },
  lines: AsyncGenerator<string>,
): Promise<void> {
  const isHead = request.method === 'HEAD';
  const first = isHead ? undefined : await lines.next();
  response.attachment(filename).type(`${type}; charset=utf-8`);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  if (first === undefined || first.done === true) return void response.end();
  response.setTimeout(IDLE_MS, () => response.destroy());
  await pipeline(Readable.from(startingWith(first.value, lines)), response).catch(() => response.destroy());
}

async function* startingWith(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}
