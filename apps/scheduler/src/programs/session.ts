import type { CliSession, SessionTotals } from '@acp/adapters';
import type { StoredSession } from '@acp/core';

const fields = ['input_tokens', 'output_tokens', 'cached_tokens', 'cost_usd'] as const;

/** Converts the stored session for the CLI adapters; missing counts are zero. */
export function sessionOf(stored: StoredSession | null): CliSession | null {
  if (stored === null) return null;
  const stored_totals: Record<string, unknown> =
    typeof stored.totals === 'object' && stored.totals !== null ? { ...stored.totals } : {};
  const totals = Object.fromEntries(
    fields.map((field) => [field, typeof stored_totals[field] === 'number' ? stored_totals[field] : 0]),
  ) as unknown as SessionTotals;
  return { id: stored.id, cwd: stored.cwd, totals };
}
