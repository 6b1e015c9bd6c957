import type { Readable } from 'node:stream';
import { Pace } from './pace.ts';

export interface Tail {
  text(): string;
  /** Resolves once all of it is read. */
  closed: Promise<void>;
}

/** Reads a stream, no faster than it is of use, and keeps the end of it. @param kept in bytes */
export function tailOf(stream: Readable, kept: number): Tail {
  let tail = Buffer.alloc(0);
  const pace = new Pace();
  stream.on('error', () => undefined);
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-kept);
    const wait_ms = pace.count(chunk);
    if (wait_ms === 0) return;
    stream.pause();
    setTimeout(() => stream.resume(), wait_ms).unref();
  });
  const closed = new Promise<void>((done) => void stream.once('close', done));
  return { text: () => tail.toString('utf8'), closed };
}
