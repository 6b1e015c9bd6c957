import { isPriced, priceOf, sumUsage } from '@acp/core';
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

/** Sums up the run's turns, each at its own model's price; null if no model was called. */
export const totalUsage = (provider: string, turns: readonly TurnUsage[], prices: Prices): RunUsage | null =>
  sumUsage(
    turns.map((turn) => ({
      ...turn,
      provider,
      cost_usd: turn.cost_usd?.toFixed(8) ?? priceOf(prices, turn.model, turn),
      price_estimated: turn.cost_usd === undefined && !isPriced(prices, turn.model),
    })),
  );
