import type { Response } from 'express';
import type { Sink } from './subscriber.ts';

/** A reader who takes nothing of what is left of an ended stream for this long has left. */
const REST_MS = 10_000;

export function sinkOf(response: Response, rest_ms = REST_MS): Sink {
  return {
    write: (text) => void response.write(text),
    end: () => endEventStream(response, rest_ms),
    pending: () => response.writableLength,
  };
}

/** Sends the headers only once the stream is granted: a refusal is an ordinary JSON error. */
export function openEventStream(response: Response): Response {
  response.socket?.setNoDelay(true);
  response.socket?.setTimeout(0);
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    connection: 'keep-alive',
  });
  response.flushHeaders();
  return response;
}

/** Ends the stream; one that is not read to its end is cut off, since nothing else limits an open stream. */
export function endEventStream(response: Response, rest_ms = REST_MS): void {
  response.end();
  if (!response.writableFinished) response.setTimeout(rest_ms, () => response.destroy());
}
