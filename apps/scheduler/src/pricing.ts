import { readFile } from 'node:fs/promises';
import type { Pricing } from '@acp/contract';
import { parsePricing } from '@acp/core';

/** Loads prices from SERVICE_PRICING_FILE; without it the built-in default applies to every model. A bad file fails the boot. */
export async function loadPricing(file: string | null): Promise<Pricing> {
  if (file === null) return {};
  try {
    return parsePricing(JSON.parse(await readFile(file, 'utf8')));
  } catch (err) {
    const reason = err instanceof Error ? err.message : String(err);
    throw new Error(`SERVICE_PRICING_FILE: ${reason}`, { cause: err });
  }
}
