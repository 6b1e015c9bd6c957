import { workerData } from 'node:worker_threads';

const { limit_bytes: limit, timeout_ms } = workerData as { limit_bytes: number; timeout_ms: number };
/** Memory grows by a few gigabytes a second at most: what one check misses, the next one finds. */
const LOOK_EVERY_MS = 10;

setInterval(() => {
  if (process.memoryUsage.rss() > limit) process.kill(process.pid, 'SIGKILL');
}, LOOK_EVERY_MS);

// The scheduler kills it at that time, unless the scheduler itself is gone.
setTimeout(() => process.kill(process.pid, 'SIGKILL'), timeout_ms);
