/** The process of one extraction (extract.ts): `child.ts <kind> <memory in MB> <time in ms>`. */
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { parsers } from './parsers.ts';
import { UNREADABLE } from './protocol.ts';
import { TextIsFull, TextSink } from './text-sink.ts';

const [kind = '', memoryMb = '', timeoutMs = ''] = process.argv.slice(2);

// The heap limit does not count buffers, and a busy main thread checks nothing: a thread watches the process.
const watchdog = new Worker(new URL('watchdog.ts', import.meta.url), {
  workerData: { limit_bytes: Number(memoryMb) * 1024 * 1024, timeout_ms: Number(timeoutMs) },
});
watchdog.unref();

const moment = new Int32Array(new SharedArrayBuffer(4));

/** Written when it returns, unlike with the process's streams: what they have buffered is lost on exit. */
function tell(fd: 1 | 2, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) at += writeSome(fd, bytes.subarray(at));
}

function writeSome(fd: 1 | 2, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch (err) {
    if (!(err instanceof Error && 'code' in err && err.code === 'EAGAIN')) throw err;
    // The pipe is full until the scheduler reads more.
    Atomics.wait(moment, 0, 0, 1);
    return 0;
  }
}

async function run(): Promise<number> {
  const parse = Object.entries(parsers).find(([name]) => name === kind)?.[1];
  if (parse === undefined) throw new Error(`no parser for ${kind}`);
  const sink = new TextSink((text) => tell(1, text));
  let failure: unknown;
  try {
    await parse(process.stdin, sink);
  } catch (error) {
    failure = error;
  }
  sink.flush();
  if (failure === undefined || failure instanceof TextIsFull) return 0;
  tell(2, failure instanceof Error ? failure.message : 'unreadable');
  return UNREADABLE;
}

// Input may still arrive that no one reads.
process.exit(await run());
