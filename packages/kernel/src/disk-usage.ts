import type { StatsFs } from 'node:fs';

/** Computed like `df`: blocks reserved for root are neither used nor free. */
export function usedPercent({ blocks, bfree, bavail }: Pick<StatsFs, 'blocks' | 'bfree' | 'bavail'>): number {
  const used = blocks - bfree;
  return used + bavail === 0 ? 100 : (used / (used + bavail)) * 100;
}
