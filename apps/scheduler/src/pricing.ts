import { readFile } from 'node:fs/promises';
import type { Pricing } from '@acp/contract';
import { parsePricing } from '@acp/core';

/** Prices of SERVICE_PRICING_FILE; without one the built-in default holds for every model. A bad file is a boot error. */
export async function loadPricing(file: string | null): Promise<Pricing> {
  if (file === null) return {};
  try {
    return parsePricing(JSON.parse(await readFile(file, 'utf8')));
  } catch (err) {
    const reason = err instanceof Error ? err.message : String(err);
    throw new Error(`SERVICE_PRICING_FILE: ${reason}`, { cause: err });
  }
}
