import type { LogoType } from '@acp/contract';
import { rateLimited, repositoryRoot, said, unsupported } from '@acp/kernel';
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

/** Of the thread's processor time: on a busy machine, loading the decoder may take longer than that on the clock. */
const LIMIT_MS = 10_000;
const LOOK_EVERY_MS = 500;
const RETRY_SEC = 10;
const HEAP_MB = 192;

/** Images of one company that are being decoded or wait for it. */
const MOST_OF_ONE = 5;

/** Their number by company, and the end of the last of all. */
const waiting = new Map<string, number>();
let last: Promise<void> = Promise.resolve();

/**
 * Decodes the image and throws `unsupported` if that fails, takes too long or needs too much memory. Images are decoded one at a
 * time, since pixels are outside the thread's heap and each image may need a quarter of a gigabyte; @throws rate_limited if five of
 * the company's are not finished. There is no WebP decoder here: its header, which was checked before, must do.
 */
export async function assertDecodes(
  company_id: string,
  bytes: Buffer,
  type: LogoType,
  limit_ms = LIMIT_MS,
): Promise<void> {
  if (type === 'image/webp') return;
  if ((waiting.get(company_id) ?? 0) >= MOST_OF_ONE)
    throw rateLimited('other logos of the company are being read', RETRY_SEC);
  count(company_id, 1);
  const decoded = last.then(async () => decode(bytes, type, limit_ms));
  last = decoded.catch(() => undefined).finally(() => count(company_id, -1));
  await decoded;
}

function count(company_id: string, change: 1 | -1): void {
  const left = (waiting.get(company_id) ?? 0) + change;
  if (left > 0) waiting.set(company_id, left);
  else waiting.delete(company_id);
}

/** In a thread: four million pixels take a tenth of a second, which would block the process. */
async function decode(bytes: Buffer, type: LogoType, limit_ms: number): Promise<void> {
  const worker = new Worker(join(repositoryRoot, 'apps/web/src/api/companies/logo-decoder.ts'), {
    workerData: { bytes, type },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    execArgv: [],
    env: {},
    stdout: true,
    stderr: true,
  });
  const watch = setInterval(() => void endIfOver(worker, limit_ms), Math.min(LOOK_EVERY_MS, limit_ms));
  try {
    const [code] = (await once(worker, 'exit')) as [unknown];
    if (code === 0) return;
  } catch {
    // The image crashed the thread.
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
  throw unsupported(said`the file is no ${type}`);
}

/** The thread answers within loops, too. */
async function endIfOver(worker: Worker, limit_ms: number): Promise<void> {
  try {
    const { user, system } = await worker.cpuUsage();
    if ((user + system) / 1000 > limit_ms) await worker.terminate();
  } catch {
    // It has just ended by itself.
  }
}
