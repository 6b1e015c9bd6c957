import { createValidator, TurnUsage } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { sumUsage } from './sum-usage.ts';
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
  const { provider, model } = turns.at(-1) ?? {};
  if (provider === undefined || model === undefined) return null;
  return sumUsage(
    turns.map(({ cost_usd, price_estimated = false, ...turn }) => ({
      ...turn,
      provider,
      model,
      cost_usd: cost_usd.toFixed(8),
      price_estimated,
      usage_missing: true,
    })),
  );
}
