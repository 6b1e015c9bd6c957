import type { Response } from 'express';
import type { Sink } from './subscriber.ts';

export function sinkOf(response: Response): Sink {
  return {
    write: (text) => void response.write(text),
    end: () => void response.end(),
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
