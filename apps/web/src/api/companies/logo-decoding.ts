import type { LogoType } from '@acp/contract';
import { unsupported } from '@acp/kernel';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const TIMEOUT_MS = 10_000;
const HEAP_MB = 192;

/**
 * Decodes the image and throws `unsupported` if that fails, takes too long or needs too much memory. Runs in a thread: four
 * million pixels take a tenth of a second, which would block the process. There is no WebP decoder here: its header, which
 * was checked before, must do.
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
    // The image crashed the thread or is still keeping it busy.
  } finally {
    await worker.terminate();
  }
  throw unsupported(`the file is no ${type}`);
}
