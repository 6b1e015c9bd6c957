/** What a run is held against: the one before it at the same work. */
import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { and, desc, eq, isNotNull, sql } from 'drizzle-orm';
import { ofRun, readable } from './read-runs.ts';
import type { RunRow } from './types.ts';

const { heartbeat_runs, run_events } = schema;

/** Runs of the agent that are looked through: what lies further back is no comparison. */
const LOOKED_AT = 500;

/** The agent's last run before this one on the same issue, in the same chat …; undefined where it is the first. */
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

// In entries of the transcript, and characters.
const PIECES = 2000;
const TEXT = 20_000;

/** What a run has said, turn after turn, verbs and all; the beginning of it. '' for whom it is private to another. */
export async function readRunText(tx: Tx, reader: Actor, run_id: string): Promise<string> {
  const { rows } = await tx.execute<{ text: string | null }>(sql`
    select left(string_agg(said, '' order by seq), ${TEXT}) as text from (
      select seq, case when kind = 'output' then payload ->> 'text' else E'\n\n' end as said from ${run_events}
      where ${ofRun(run_id)} and kind in ('output', 'prompt') and ${readable(reader)} order by seq limit ${PIECES}) piece`);
  return rows[0]?.text?.trim() ?? '';
}
