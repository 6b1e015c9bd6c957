/** Comparison of a run with the previous one on the same work. */
import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { and, desc, eq, isNotNull, sql } from 'drizzle-orm';
import { ofRun, readable } from './read-runs.ts';
import type { RunRow } from './types.ts';

const { heartbeat_runs, run_events } = schema;

/** Number of the agent's runs that are searched: anything further back is no useful comparison. */
const LOOKED_AT = 500;

/** The agent's previous run on the same issue, in the same chat …; undefined if this is the first. */
export async function findRunBefore(tx: Tx, run: RunRow): Promise<RunRow | undefined> {
  const earlier = tx
    .select()
    .from(heartbeat_runs)
    .where(
      and(
        eq(heartbeat_runs.agent_id, run.agent_id),
        sql`(${heartbeat_runs.created_at}, ${heartbeat_runs.id}) < (select created_at, id from heartbeat_runs where id = ${run.id})`,
      ),
    )
    .orderBy(desc(heartbeat_runs.created_at), desc(heartbeat_runs.id))
    .limit(LOOKED_AT)
    .as('earlier');
  const [row] = await tx
    .select()
    .from(earlier)
    .where(
      and(
        isNotNull(earlier.finished_at),
        eq(earlier.kind, run.kind),
        sql`${earlier.issue_id} is not distinct from ${run.issue_id}::uuid`,
        sql`${earlier.subject_id} is not distinct from ${run.subject_id}::uuid`,
      ),
    )
    .orderBy(desc(earlier.created_at), desc(earlier.id))
    .limit(1);
  return row;
}

// In transcript entries and characters, respectively.
const PIECES = 2000;
const TEXT = 20_000;

/** The beginning of a run's output, turn by turn, including verbs; '' if the run is private to someone else. */
export async function readRunText(tx: Tx, reader: Actor, run_id: string): Promise<string> {
  const { rows } = await tx.execute<{ text: string | null }>(sql`
    select left(string_agg(said, '' order by seq), ${TEXT}) as text from (
      select seq, case when kind = 'output' then payload ->> 'text' else E'\n\n' end as said from ${run_events}
      where ${ofRun(run_id)} and kind in ('output', 'prompt') and ${readable(reader)} order by seq limit ${PIECES}) piece`);
  return rows[0]?.text?.trim() ?? '';
}
