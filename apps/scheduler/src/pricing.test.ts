import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadPricing } from './pricing.ts';

async function fileWith(text: string): Promise<string> {
  const file = path.join(await mkdtemp(path.join(tmpdir(), 'pricing-')), 'pricing.json');
  await writeFile(file, text);
  return file;
}

describe('the pricing file', () => {
  it('is read at boot, and may be absent', async () => {
    const rates = { 'a-model': { InputPer1K: 0.001, OutputPer1K: 0.002 } };
    expect(await loadPricing(await fileWith(JSON.stringify(rates)))).toEqual(rates);
    expect(await loadPricing(null)).toEqual({});
  });

  it.each(['{', '[]', '{"a-model": {"InputPer1K": -1, "OutputPer1K": 1}}', '{"a-model": 3}'])(
    'that is malformed is an error that names the variable: %s',
    async (text) => {
      await expect(loadPricing(await fileWith(text))).rejects.toThrow(/^SERVICE_PRICING_FILE: /);
    },
  );

  it('that is missing is one too', async () => {
    await expect(loadPricing('/nowhere/pricing.json')).rejects.toThrow(/^SERVICE_PRICING_FILE: /);
  });
});
