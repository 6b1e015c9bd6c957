import { createValidator, TurnUsage } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { RunRow, RunUsage } from './types.ts';

const read = createValidator(TurnUsage, 'usage of a turn');

/** The usage in a `log` entry; null if there is none. Entries sent by a worker may have any shape. */
export function usageOf(logged: unknown): TurnUsage | null {
  try {
    return read(logged);
  } catch {
    return null;
  }
}

/** Maximum value of the database column. */
const MOST_TOKENS = 2 ** 31 - 1;

/**
 * What the turns of a run have used according to its transcript: all that is known of a run that nobody executes any more. A turn that was
 * under way is not in it. Null: no turn was logged.
 */
export async function loggedUsage(
  tx: Tx,
  { id, transcript_part }: Pick<RunRow, 'id' | 'transcript_part'>,
): Promise<RunUsage | null> {
  const { rows } = await tx.execute<{ usage: unknown }>(sql`
    select payload -> 'usage' as usage from run_events
    where part = ${transcript_part} and run_id = ${id} and kind = 'log' and payload ? 'usage' order by seq`);
  const turns = rows.map(({ usage }) => usageOf(usage)).filter((usage) => usage !== null);
  const last = turns.at(-1);
  if (last?.provider === undefined || last.model === undefined) return null;
  const sum = (field: 'input_tokens' | 'output_tokens' | 'cached_tokens'): number =>
    Math.min(MOST_TOKENS, Math.round(turns.reduce((total, turn) => total + turn[field], 0)));
  return {
    provider: last.provider,
    model: last.model,
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    cached_tokens: sum('cached_tokens'),
    cost_usd: turns.reduce((total, { cost_usd }) => total + cost_usd, 0).toFixed(8),
    price_estimated: turns.some((turn) => turn.price_estimated === true),
    usage_missing: true,
  };
}
