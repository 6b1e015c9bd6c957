import { written } from './numbers.ts';

const CENTS: Intl.NumberFormatOptions = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
const TINY: Intl.NumberFormatOptions = { maximumSignificantDigits: 2 };

/** From here on, two significant digits are ten cents. */
const TEN_CENTS = 0.0995;

/** `$12.50`, `$0.089`: an amount on a page or in a message. Those below ten cents have up to two significant digits. */
export function dollars(amount: number, locale = 'en-US'): string {
  const digits = amount === 0 || amount >= TEN_CENTS ? CENTS : TINY;
  return written(amount, locale, { style: 'currency', currency: 'USD', ...digits });
}
