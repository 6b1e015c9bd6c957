/** The process of one extraction (extract.ts): `child.ts <kind> <memory in MB>`. */
import { buffer } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { parsers } from './parsers.ts';
import { LONGEST_TEXT, UNREADABLE } from './protocol.ts';

const [kind = '', memoryMb = ''] = process.argv.slice(2);

// The heap's limit does not count buffers, and a busy main thread looks at nothing: a thread watches the process.
const watchdog = new Worker(new URL('watchdog.ts', import.meta.url), {
  workerData: { limit_bytes: Number(memoryMb) * 1024 * 1024 },
});
watchdog.unref();

async function run(): Promise<number> {
  const parse = parsers[kind];
  if (parse === undefined) throw new Error(`no parser for ${kind}`);
  try {
    const text = await parse(await buffer(process.stdin));
    // What PostgreSQL can't store as text.
    process.stdout.write(text.slice(0, LONGEST_TEXT).toWellFormed().replaceAll('\0', ''));
    return 0;
  } catch (error) {
    process.stderr.write(error instanceof Error ? error.message : String(error));
    return UNREADABLE;
  }
}

process.exitCode = await run();
