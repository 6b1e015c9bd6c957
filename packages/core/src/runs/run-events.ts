import { fixedForms, hasStatus, type Tx, signal } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { audienceOf } from './run-kinds.ts';
import { storableJson } from './storable.ts';
import type { NewRunEvent, RunAudience, RunLease, RunRow, TranscriptBatch } from './types.ts';

/** An item of the `transcripts` channel, as JSON: entries `from` to `to` of the run are ready for its audience. */
export interface TranscriptSignal extends RunAudience {
  run_id: string;
  company_id: string;
  from: number;
  to: number;
}

export function transcriptSignal(run: RunRow, from: number, to: number): string {
  return signalOf({ run_id: run.id, company_id: run.company_id, audience: audienceOf(run) }, from, to);
}

function signalOf(
  { run_id, company_id, audience }: Omit<RunLease, 'fence'>,
  from: number,
  to: number,
): string {
  const item: TranscriptSignal = { run_id, company_id, from, to, ...audience };
  return JSON.stringify(item);
}

/** A part of one run's transcript, to be stored. */
export interface RunEventBatch {
  lease: RunLease;
  first_seq: number;
  events: readonly NewRunEvent[];
}

/**
 * Appends to the transcripts of many runs in one statement, which may run outside of a transaction: it is called as often as
 * their models produce output. The lease owners number the events; sending the same numbers again (an answer was lost)
 * changes nothing. A run whose row is locked is skipped, so that runs neither wait for each other nor deadlock.
 * @param batches at most one for each run
 * @returns for each, the item for the notifier's `transcripts` channel; undefined if nothing was written: the fence is lost,
 *   or the run is locked right now; `storeRunEvents` distinguishes the two
 */
export async function storeManyRunEvents(
  db: Tx,
  batches: readonly RunEventBatch[],
): Promise<(string | undefined)[]> {
  const held = await insertHeld(db, batches, 'skip locked');
  return batches.map((batch) => (held.has(batch.lease.run_id) ? itemOf(batch) : undefined));
}

/** The same for one run; waits for its row lock. Undefined: the fence is lost. */
export async function storeRunEvents(db: Tx, batch: RunEventBatch): Promise<string | undefined> {
  const held = await insertHeld(db, [batch], '');
  return held.has(batch.lease.run_id) ? itemOf(batch) : undefined;
}

const itemOf = ({ lease, first_seq, events }: RunEventBatch): string =>
  signalOf(lease, first_seq, first_seq + events.length - 1);

/** @returns the runs that still have this lease */
async function insertHeld(
  db: Tx,
  batches: readonly RunEventBatch[],
  whenLocked: '' | 'skip locked',
): Promise<ReadonlySet<string>> {
  const leases = batches.map(({ lease: { run_id, fence } }) => ({ run_id, fence }));
  const entries = batches.flatMap(({ lease: { run_id }, first_seq, events }) =>
    events.map(({ kind, payload }, place) => ({ run_id, seq: first_seq + place, kind, payload })),
  );
  const values = { leases: JSON.stringify(leases), entries: storableJson(entries) };
  const rows = await additions(db, whenLocked, values, (named) => additionStatement(named, whenLocked));
  return new Set(rows.map(({ id }) => String(id)));
}

const additions = fixedForms(['leases', 'entries']);

/** The lock keeps the check valid: without it a sweep could end a run between our snapshot and our insert. */
const additionStatement = (
  { leases, entries }: Parameters<Parameters<typeof additions>[3]>[0],
  whenLocked: string,
): SQL => sql`
    with lease as materialized (
      select * from jsonb_to_recordset(${leases}::jsonb) as l(run_id uuid, fence bigint)
    ), held as materialized (
      select run.* from lease cross join lateral (
        select r.id, r.transcript_part from heartbeat_runs r
        where r.id = lease.run_id and r.fence = lease.fence and ${hasStatus('running')} for no key update ${sql.raw(whenLocked)}
      ) run
    ), entry as (
      insert into run_events (run_id, seq, kind, payload, part)
      select held.id, e.seq, e.kind, e.payload, held.transcript_part
      from jsonb_to_recordset(${entries}::jsonb) as e(run_id uuid, seq int, kind text, payload jsonb)
      join held on held.id = e.run_id
      on conflict do nothing
    )
    select id from held`;

/** The same in a transaction, which sends the signal after its commit. False: the fence is lost, nothing was written. */
export async function appendRunEvents(
  tx: Tx,
  lease: RunLease,
  first_seq: number,
  events: readonly NewRunEvent[],
): Promise<boolean> {
  if (events.length === 0) return true;
  const item = await storeRunEvents(tx, { lease, first_seq, events });
  if (item === undefined) return false;
  signal(tx, 'transcripts', item);
  return true;
}

/**
 * The last entries of a run as a part of the statement that ends it: the owner's unsent entries, the reason for a failure,
 * and the status. Numbered after the owner's own, or after the stored ones if no one owns the run any more; these the previous
 * owner may have been adding to just now.
 * @param ended relation of that statement with the columns `id`, `status` and `transcript_part`
 */
export function insertLastEvents(
  ended: string,
  batch: TranscriptBatch | undefined,
  fault: { message: string; category: string | undefined } | null,
): SQL {
  const run = sql.identifier(ended);
  const first = batch
    ? sql`${batch.first_seq}::int - 1`
    : sql`coalesce((select max(seq) from run_events e where e.run_id = ${run}.id and e.part = ${run}.transcript_part), 0)`;
  return sql`
    insert into run_events (run_id, seq, kind, payload, part)
    select ${run}.id, ${first} + row_number() over (order by e.place), e.kind, e.payload, ${run}.transcript_part
    from ${run} cross join lateral (
      select place, kind, payload
      from jsonb_to_recordset(${storableJson(placed(batch?.events ?? []))}::jsonb) as e(place int, kind text, payload jsonb)
      union all
      select 1000001, 'error', ${fault === null ? null : JSON.stringify(fault)}::jsonb
        where ${fault !== null}::boolean and ${run}.status = 'failed'
      union all
      select 1000002, 'status', jsonb_build_object('status', ${run}.status)
    ) e
    ${batch ? sql`` : sql`on conflict do nothing`}
    returning seq`;
}

function placed(events: readonly NewRunEvent[]) {
  return events.map(({ kind, payload }, place) => ({ place, kind, payload }));
}
