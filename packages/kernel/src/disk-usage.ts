import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';

/** Computed like `df`: blocks reserved for root are neither used nor free. */
export function usedPercent({ blocks, bfree, bavail }: Pick<StatsFs, 'blocks' | 'bfree' | 'bavail'>): number {
  const used = blocks - bfree;
  return used + bavail === 0 ? 100 : (used / (used + bavail)) * 100;
}

/** Of the disk that the folder is on: what a process that is not root's may still write. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
