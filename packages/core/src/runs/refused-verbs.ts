import { verbLine } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/** A verb that had no effect. */
export interface RefusedVerb {
  run_id: string;
  /** As the agent wrote it, without a body: which tool it called, or whom it assigned. */
  line: string;
  /** Null once the run's content was cleared. */
  error: string | null;
}

/** Number of verbs returned for each run. */
const MOST = 5;

/** The first verbs of each run that had no effect, in their order. The caller may see the runs. */
export async function refusedVerbs(tx: Tx, run_ids: readonly string[]): Promise<RefusedVerb[]> {
  if (run_ids.length === 0) return [];
  const { rows } = await tx.execute<{
    run_id: string;
    verb: string;
    args: unknown;
    error: string | null;
  }>(sql`
    select d.run_id, d.verb, d.args, d.error from unnest(${sql.param(run_ids)}::uuid[]) run (id)
    join lateral (select * from run_actions where run_id = run.id and not ok order by ordinal limit ${MOST}) d on true
    order by d.run_id, d.ordinal`);
  return rows.map(({ run_id, error, ...said }) => ({ run_id, error, line: verbLine(said) }));
}
