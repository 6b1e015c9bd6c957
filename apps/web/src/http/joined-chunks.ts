import { JoinedBytes } from '@acp/kernel';
import type { IncomingMessage } from 'node:http';

/** As many of an honest body may be short. */
const CHUNKS = 100;
const SHORT_BYTES = 1024;

/**
 * A client may send each byte of a body as a chunk of its own, and whoever reads the body as a whole keeps the chunks, at hundreds of
 * bytes each. Those that arrive together are passed on as one.
 */
export function joinChunks(request: IncomingMessage): void {
  // Not in a class: Express gives the request another prototype.
  const pass = request.push.bind(request);
  const joined = new JoinedBytes();
  let count = 0;
  const flush = (): void => {
    if (joined.length > 0 && !request.destroyed) pass(joined.take());
  };
  request.push = (chunk: Buffer | null) => {
    if (chunk === null) {
      flush();
      return pass(null);
    }
    count += 1;
    if (joined.length === 0) {
      if (count <= CHUNKS || chunk.length > SHORT_BYTES) return pass(chunk);
      // Not with the next tick: the parser ends one with each chunk.
      setImmediate(flush);
    }
    joined.add(chunk);
    return request.readableLength + joined.length < request.readableHighWaterMark;
  };
}
