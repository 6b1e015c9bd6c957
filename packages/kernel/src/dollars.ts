const CENTS: Intl.NumberFormatOptions = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
const TINY: Intl.NumberFormatOptions = { minimumSignificantDigits: 1, maximumSignificantDigits: 2 };

/** `$12.50`, `$0.089`: an amount in a text that is no page. Those below ten cents have two significant digits. */
export function dollars(amount: number): string {
  const digits = amount === 0 || amount >= 0.1 ? CENTS : TINY;
  return amount.toLocaleString('en-US', { style: 'currency', currency: 'USD', ...digits });
}
