import type { RunUsage } from './types.ts';

/** Maximum value of the database column. */
const MOST_TOKENS = 2 ** 31 - 1;

/** Sums up what the turns of a run have used, under the last one's provider and model; null if there are none. */
export function sumUsage(turns: readonly RunUsage[]): RunUsage | null {
  const last = turns.at(-1);
  if (last === undefined) return null;
  const sum = (field: 'input_tokens' | 'output_tokens' | 'cached_tokens') =>
    Math.min(MOST_TOKENS, Math.round(turns.reduce((total, turn) => total + turn[field], 0)));
  return {
    provider: last.provider,
    model: last.model,
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    cached_tokens: sum('cached_tokens'),
    usage_missing: turns.some(({ usage_missing }) => usage_missing),
    cost_usd: addMoney(turns.map(({ cost_usd }) => cost_usd)),
    price_estimated: turns.some(({ price_estimated }) => price_estimated),
  };
}

/** Adds decimal strings of eight places, in whole units of 1e-8 USD. */
function addMoney(amounts: readonly string[]): string {
  const units = amounts.reduce((total, amount) => total + BigInt(amount.replace('.', '')), 0n);
  const digits = units.toString().padStart(9, '0');
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`;
}
