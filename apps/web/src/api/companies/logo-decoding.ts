import type { LogoType } from '@acp/contract';
import { unsupported } from '@acp/kernel';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const TIMEOUT_MS = 10_000;
const HEAP_MB = 192;

/**
 * Decodes the image and throws `unsupported` when that fails, takes too long or too much memory. In a thread: a decoder
 * takes a tenth of a second for four million pixels, in which the process would answer nobody. WebP has no decoder
 * here: its header, which was checked before, has to do.
 */
export async function assertDecodes(bytes: Buffer, type: LogoType): Promise<void> {
  if (type === 'image/webp') return;
  const worker = new Worker(new URL('logo-decoder.ts', import.meta.url), {
    workerData: { bytes, type },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    execArgv: [],
    env: {},
    stdout: true,
    stderr: true,
  });
  try {
    const [code] = (await once(worker, 'exit', { signal: AbortSignal.timeout(TIMEOUT_MS) })) as [unknown];
    if (code === 0) return;
  } catch {
    // The thread died of the image, or was still busy with it.
  } finally {
    await worker.terminate();
  }
  throw unsupported(`the file is no ${type}`);
}
