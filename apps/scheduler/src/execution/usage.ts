import { isPriced, priceOf } from '@acp/core';
import type { Prices, RunUsage } from '@acp/core';

/** One turn's figures, as reported by the adapter. */
export interface TurnUsage {
  model: string;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** The provider counted nothing: these are the adapter's estimate. */
  usage_missing: boolean;
  /** In USD, if the adapter reports it; otherwise the model's price applies. */
  cost_usd?: number | undefined;
}

/** Maximum value of the database column. */
const MOST_TOKENS = 2 ** 31 - 1;

/** Sums up the run's turns, each at its own model's price; null if no model was called. */
export function totalUsage(provider: string, turns: readonly TurnUsage[], prices: Prices): RunUsage | null {
  const last = turns.at(-1);
  if (last === undefined) return null;
  const sum = (field: 'input_tokens' | 'output_tokens' | 'cached_tokens') =>
    Math.min(
      MOST_TOKENS,
      turns.reduce((total, turn) => total + turn[field], 0),
    );
  return {
    provider,
    model: last.model,
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    cached_tokens: sum('cached_tokens'),
    usage_missing: turns.some((turn) => turn.usage_missing),
    cost_usd: addMoney(turns.map((turn) => turn.cost_usd?.toFixed(8) ?? priceOf(prices, turn.model, turn))),
    price_estimated: turns.some(({ cost_usd, model }) => cost_usd === undefined && !isPriced(prices, model)),
  };
}

/** Adds decimal strings of eight places, in whole units of 1e-8 USD. */
function addMoney(amounts: readonly string[]): string {
  const units = amounts.reduce((total, amount) => total + BigInt(amount.replace('.', '')), 0n);
  const digits = units.toString().padStart(9, '0');
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`;
}
