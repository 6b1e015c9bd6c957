import { workerData } from 'node:worker_threads';

const { limit_bytes: limit } = workerData as { limit_bytes: number };
/** Memory grows by a few gigabytes a second at most: what a look misses, the next one finds. */
const LOOK_EVERY_MS = 10;

setInterval(() => {
  if (process.memoryUsage.rss() > limit) process.kill(process.pid, 'SIGKILL');
}, LOOK_EVERY_MS);
