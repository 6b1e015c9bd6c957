import { createValidator, Pricing, type ModelRates } from '@acp/contract';

interface TokenUsage {
  /** Includes cached tokens (decisions 7.37). */
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
}

/** Rates of models without a price (decisions 7.37). */
export const defaultRates: ModelRates = { InputPer1K: 0.003, OutputPer1K: 0.015 };
const validate = createValidator(Pricing, 'pricing');

/** Throws `invalid`, naming what is wrong. */
export function parsePricing(json: unknown): Pricing {
  return validate(json);
}

// Rates are integers in 1e-12 USD per 1,000 tokens, sums in 1e-8 USD (the column's scale): no floats are involved.
const RATE_DIGITS = 12;
const MONEY_DIGITS = 8;
const RATE_PER_MONEY_UNIT = 1000n * 10n ** BigInt(RATE_DIGITS - MONEY_DIGITS);

/** Sources of model prices: the operator's file takes precedence over the company's own. */
export interface Prices {
  file: Pricing;
  company: Pricing;
}

/** Whether a price for the model has been set. */
export const isPriced = (prices: Prices, model: string): boolean => ratesOf(prices, model) !== undefined;

function ratesOf({ file, company }: Prices, model: string): ModelRates | undefined {
  if (Object.hasOwn(file, model)) return file[model];
  return Object.hasOwn(company, model) ? company[model] : undefined;
}

/**
 * Cost in USD with eight decimals, rounded half up. Cached tokens cost the input rate unless the model has a separate rate.
 * @param estimate rates for a model without a price
 */
export function priceOf(
  prices: Prices,
  model: string,
  usage: TokenUsage,
  estimate: ModelRates = defaultRates,
): string {
  const rates = ratesOf(prices, model) ?? estimate;
  const input = tokens(usage.input_tokens);
  const cached = tokens(Math.min(usage.cached_tokens, usage.input_tokens));
  const total =
    (input - cached) * scaled(rates.InputPer1K) +
    cached * scaled(rates.CachedPer1K ?? rates.InputPer1K) +
    tokens(usage.output_tokens) * scaled(rates.OutputPer1K);
  return decimal((total + RATE_PER_MONEY_UNIT / 2n) / RATE_PER_MONEY_UNIT);
}

// An adapter may pass on invented numbers; a negative or fractional count must not become money.
function tokens(count: number): bigint {
  return BigInt(Math.max(0, Math.trunc(Number.isFinite(count) ? count : 0)));
}

function scaled(rate: number): bigint {
  return BigInt(rate.toFixed(RATE_DIGITS).replace('.', ''));
}

function decimal(units: bigint): string {
  const digits = units.toString().padStart(MONEY_DIGITS + 1, '0');
  return `${digits.slice(0, -MONEY_DIGITS)}.${digits.slice(-MONEY_DIGITS)}`;
}
