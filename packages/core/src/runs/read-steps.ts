import { type Actor, createValidator, TurnUsage } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { ofRun, readable } from './read-runs.ts';

const { run_events } = schema;

/**
 * One call of the model or program, with what followed from it. Instants are milliseconds since 1970, true to a tenth
 * of a second: a transcript is stored in batches.
 */
export interface RunStep extends Record<string, unknown> {
  /** From 1; 0 for what was written before the first. */
  turn: number;
  /** Number of its first entry. */
  seq: number;
  began_at: number;
  /** When the first and the last words came; null where none did. */
  first_output_at: number | null;
  last_output_at: number | null;
  ended_at: number;
  verbs: number;
  failed_verbs: number;
  tools: number;
  errors: number;
  /** Only of a run of several turns, and of a turn that has ended. */
  usage: TurnUsage | null;
}

const readUsage = createValidator(TurnUsage, 'usage of a turn');

/** More turns than a run may take. */
const MOST_STEPS = 200;

/** The turns of a run by its transcript, in order; none of a run that the reader may not read. */
export async function listRunSteps(tx: Tx, reader: Actor, run_id: string): Promise<RunStep[]> {
  const { rows } = await tx.execute<RunStep & { told: unknown[] | null }>(sql`
    select turn::int, min(seq) as seq, min(at) as began_at,
      min(at) filter (where kind = 'output') as first_output_at,
      max(at) filter (where kind = 'output') as last_output_at,
      max(at) as ended_at,
      (count(*) filter (where kind = 'action'))::int as verbs,
      (count(*) filter (where kind = 'action' and failed))::int as failed_verbs,
      (count(*) filter (where kind = 'tool'))::int as tools,
      (count(*) filter (where kind = 'error'))::int as errors,
      jsonb_agg(told) filter (where told is not null) as told
    from (
      select seq, kind, payload @> '{"ok": false}' as failed, extract(epoch from created_at)::float8 * 1000 as at,
        case when kind = 'log' then payload -> 'usage' end as told,
        count(*) filter (where kind = 'prompt') over (order by seq) as turn
      from ${run_events} where ${ofRun(run_id)} and ${readable(reader)}
    ) entry group by turn order by turn limit ${MOST_STEPS}`);
  return rows.map(({ told, ...step }) => ({ ...step, usage: usageIn(told) }));
}

/** Entries that a worker has sent may be of any shape. */
function usageIn(told: unknown[] | null): TurnUsage | null {
  try {
    return told === null ? null : readUsage(told.at(-1));
  } catch {
    return null;
  }
}
