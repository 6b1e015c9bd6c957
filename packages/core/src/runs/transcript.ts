import { type Tx, signal } from '@acp/db';
import { sql } from 'drizzle-orm';
import { storableJson } from './storable.ts';
import type { NewRunEvent, RunLease, RunRow, TranscriptBatch } from './types.ts';

/** An item of the `transcripts` channel, as JSON: rows `from` to `to` of the run can be read. */
export interface TranscriptSignal {
  run_id: string;
  company_id: string;
  /** Its audience: readers of others do not look at the rows. */
  issue_id: string | null;
  from: number;
  to: number;
}

/** Of whose transcript it is. */
type Subject = Pick<TranscriptSignal, 'run_id' | 'company_id' | 'issue_id'>;

/** The item for rows `first_seq` and the next ones, `count` in all. */
export function transcriptItem(
  { run_id, company_id, issue_id }: Subject,
  first_seq: number,
  count: number,
): string {
  const item: TranscriptSignal = { run_id, company_id, issue_id, from: first_seq, to: first_seq + count - 1 };
  return JSON.stringify(item);
}

/**
 * Adds to the transcript by one statement, which may stand alone on the plain database: it is called ten times a
 * second and run. The lease holder numbers the events; the same numbers sent again (an answer was lost) change nothing.
 * @returns the item for the notifier's `transcripts` channel; undefined when the fence is lost: nothing was written.
 */
export async function storeRunEvents(
  db: Tx,
  lease: RunLease,
  first_seq: number,
  events: readonly NewRunEvent[],
): Promise<string | undefined> {
  const numbered = events.map(({ kind, payload }, index) => ({ seq: first_seq + index, kind, payload }));
  // The lock makes the check hold: without it a sweep could end the run between our snapshot and our insert.
  const { rows } = await db.execute<{ issue_id: string | null }>(sql`
    with held as materialized (
      select r.id, r.issue_id from heartbeat_runs r
      where r.id = ${lease.run_id} and r.fence = ${lease.fence} and r.status = 'running' for no key update
    ), entry as (
      insert into run_events (run_id, seq, kind, payload)
      select held.id, e.seq, e.kind, e.payload
      from held, jsonb_to_recordset(${storableJson(numbered)}::jsonb) as e(seq int, kind text, payload jsonb)
      on conflict (run_id, seq) do nothing
    )
    select issue_id from held`);
  return rows[0] && transcriptItem({ ...lease, ...rows[0] }, first_seq, events.length);
}

/** The same in a transaction, which tells it after its commit. False: the fence is lost, nothing was written. */
export async function appendRunEvents(
  tx: Tx,
  lease: RunLease,
  first_seq: number,
  events: readonly NewRunEvent[],
): Promise<boolean> {
  if (events.length === 0) return true;
  const item = await storeRunEvents(tx, lease, first_seq, events);
  if (item === undefined) return false;
  signal(tx, 'transcripts', item);
  return true;
}

/** With the end of the run, whose row the transaction has locked and found to be the lease's. */
export async function storeLastEvents(
  tx: Tx,
  run: Subject,
  { first_seq, events }: TranscriptBatch,
): Promise<void> {
  if (events.length === 0) return;
  const numbered = events.map(({ kind, payload }, index) => ({ seq: first_seq + index, kind, payload }));
  await tx.execute(sql`
    insert into run_events (run_id, seq, kind, payload)
    select ${run.run_id}, e.seq, e.kind, e.payload
    from jsonb_to_recordset(${storableJson(numbered)}::jsonb) as e(seq int, kind text, payload jsonb)
    on conflict (run_id, seq) do nothing`);
  signal(tx, 'transcripts', transcriptItem(run, first_seq, events.length));
}

/** Ends the transcript of a run that nobody writes any more: why it ended, and how. The transaction has ended the run. */
export async function endTranscript(
  tx: Tx,
  { id, company_id, issue_id }: Pick<RunRow, 'id' | 'company_id' | 'issue_id'>,
  { error, status }: { error: { message: string; category: string }; status: string },
): Promise<void> {
  const { rows } = await tx.execute<{ from: number; count: number }>(sql`
    with entry as (
      insert into run_events (run_id, seq, kind, payload)
      select ${id}, coalesce((select max(seq) from run_events where run_id = ${id}), 0) + e.place, e.kind, e.payload
      from (values (1, 'error', ${JSON.stringify(error)}::jsonb),
        (2, 'status', ${JSON.stringify({ status })}::jsonb)) as e(place, kind, payload)
      returning seq
    )
    select min(seq) as "from", count(*)::int as count from entry`);
  const { from, count } = rows[0]!;
  signal(tx, 'transcripts', transcriptItem({ run_id: id, company_id, issue_id }, from, count));
}
