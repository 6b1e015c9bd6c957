/**
 * Runs that continue outside of any scheduler (decisions 7.25): running without a lease, so that no sweep takes them, until
 * someone delivers a result or their time is up.
 */
import { hasStatus, signal, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { systemActor } from '../activity/index.ts';
import { claimedRun, holderColumns, withAgent } from './claim-run.ts';
import { endRun, lockedAround } from './end-run.ts';
import { runRow } from './rows.ts';
import { transcriptSignal } from './run-events.ts';
import { storableJson } from './storable.ts';
import type { ClaimedRun, NewRunEvent, RunFault, RunLease, RunRow } from './types.ts';

const scheduler = systemActor('scheduler');

/**
 * Releases the lease and raises the fence, so that anything the scheduler still sends changes nothing. A run that was
 * cancelled in the meantime is handed over, too: whoever waits for the task ends it.
 * @returns false if the run is no longer ours: the caller rolls back
 */
export async function handOverRun(tx: Tx, lease: RunLease): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    update heartbeat_runs r set lease_expires_at = null, fence = r.fence + 1, handed_over_at = clock_timestamp()
    where r.id = ${lease.run_id} and r.fence = ${lease.fence} and ${hasStatus('running')}
    returning id`);
  return rows.length > 0;
}

/** A run that a scheduler owns again, with what it did before. */
export interface TakenBackRun {
  run: ClaimedRun;
  /** Someone cancelled it before the result was applied: none of it may be. */
  cancel_requested: boolean;
  /** Lower ordinals are recorded already: the delivered verbs are applied from here on (`run_actions`). */
  next_ordinal: number;
  /** One of the recorded verbs changed something. */
  applied: boolean;
  /** The next number in its transcript. */
  next_seq: number;
}

/**
 * Takes back a run that was handed over, for the caller that has its result: fence raised, lease as in a claim. A second
 * caller, or a retry after a crash, gets it only once the first one's lease has expired; the first can then no longer write.
 * @returns undefined if the run has ended, was never handed over or is owned by another
 */
export async function takeBackRun(
  tx: Tx,
  run_id: string,
  options: { claimed_by: string; lease_sec: number },
): Promise<TakenBackRun | undefined> {
  const { rows } = await tx.execute(sql`
    update heartbeat_runs r set fence = r.fence + 1, claimed_by = ${options.claimed_by},
      lease_expires_at = clock_timestamp() + make_interval(secs => ${options.lease_sec})
    from agents a
    where r.id = ${run_id} and a.id = r.agent_id and ${hasStatus('running')} and r.handed_over_at is not null
      and (r.lease_expires_at is null or r.lease_expires_at < clock_timestamp())
    returning r.*, ${holderColumns},
      (select coalesce(max(d.ordinal), 0) + 1 from run_actions d where d.run_id = r.id) as next_ordinal,
      exists (select from run_actions d where d.run_id = r.id and d.mutating and d.ok) as applied,
      (select coalesce(max(e.seq), 0) + 1 from run_events e where e.run_id = r.id and e.part = r.transcript_part) as next_seq`);
  const [raw] = rows;
  if (raw === undefined) return undefined;
  return {
    run: claimedRun({ ...withAgent(raw), api_key: null }),
    cancel_requested: raw.cancel_requested_at !== null,
    next_ordinal: Number(raw.next_ordinal),
    applied: raw.applied === true,
    next_seq: Number(raw.next_seq),
  };
}

/**
 * Ends such a run without a result and notes why in its transcript; `cancelled` if the category says so or it was cancelled.
 * @param condition must still be true of the locked run `r`
 * @returns false if it has ended or the condition is no longer true: nothing was written
 */
export async function endHandedOverRun(
  tx: Tx,
  run: Pick<RunRow, 'id' | 'agent_id' | 'subject_id' | 'kind'>,
  failure: RunFault,
  condition: SQL,
): Promise<boolean> {
  // The run's owner adds to its transcript: the last entries are numbered once no one else can.
  await tx.execute(sql`
    with ${lockedAround(run)}
    select r.id from heartbeat_runs r cross join agent left join subject on true
    where r.id = ${run.id} for no key update of r`);
  const result = { failure, text: null, usage: null, changed: false };
  const handedOver = sql`${hasStatus('running')} and r.lease_expires_at is null and ${condition}`;
  return (await endRun(tx, run, { result, actor: scheduler }, handedOver)) !== undefined;
}

/** Entries to append to one run's transcript. */
interface RunNote {
  run_id: string;
  events: readonly NewRunEvent[];
}

/**
 * Appends to the transcripts of runs that are outside of any scheduler, continuing their numbering; the runs' rows are locked
 * in the meantime. No one else numbers them, since they have no lease.
 * @param notes at most one for each run
 * @returns the runs that were written to; one is missing if it has ended or a scheduler owns it
 */
export async function noteOnHandedOverRuns(tx: Tx, notes: readonly RunNote[]): Promise<ReadonlySet<string>> {
  const ids = JSON.stringify(notes.map(({ run_id }) => run_id));
  const held = await tx.execute(sql`
    select r.* from heartbeat_runs r
    where r.id in (select id::uuid from jsonb_array_elements_text(${ids}::jsonb) as asked(id))
      and r.status = 'running' and r.lease_expires_at is null and r.handed_over_at is not null
    order by r.id for no key update`);
  const runs = new Map(held.rows.map((raw) => runRow(raw)).map((run) => [run.id, run]));
  const entries = notes
    .filter(({ run_id }) => runs.has(run_id))
    .flatMap(({ run_id, events }) =>
      events.map(({ kind, payload }, place) => ({
        run_id,
        part: runs.get(run_id)!.transcript_part,
        place,
        kind,
        payload,
      })),
    );
  if (entries.length === 0) return new Set(runs.keys());
  const { rows } = await tx.execute<{ run_id: string; from: number; to: number }>(sql`
    with entry as (
      insert into run_events (run_id, seq, kind, payload, part)
      select e.run_id, coalesce(last.seq, 0) + 1 + e.place, e.kind, e.payload, e.part
      from jsonb_to_recordset(${storableJson(entries)}::jsonb) as e(run_id uuid, part int, place int, kind text, payload jsonb)
      cross join lateral (select max(seq) as seq from run_events o where o.run_id = e.run_id and o.part = e.part) last
      returning run_id, seq
    )
    select run_id, min(seq) as "from", max(seq) as "to" from entry group by run_id`);
  for (const { run_id, from, to } of rows)
    signal(tx, 'transcripts', transcriptSignal(runs.get(run_id)!, from, to));
  return new Set(runs.keys());
}

/** The same for one run. @returns false if nothing was written */
export async function noteOnHandedOverRun(
  tx: Tx,
  run_id: string,
  events: readonly NewRunEvent[],
): Promise<boolean> {
  return (await noteOnHandedOverRuns(tx, [{ run_id, events }])).has(run_id);
}
