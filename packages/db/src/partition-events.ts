import { sql } from 'drizzle-orm';
import { inSteps, isMyStep, STEP_WAIT_MS } from './partition-steps.ts';
import type { Database } from './pool.ts';
import { takeTime } from './transaction.ts';
import type { Tx } from './tx.ts';
import { waitBriefly } from './wait-briefly.ts';

/** Advisory lock key, unique to this work. */
const LOCK = 7_236_125_402;
const STEP = 100_000;
/** Minimum number of sequence numbers left free for events that arrive during validation. */
const ROOM = 10 * STEP;

interface State extends Record<string, unknown> {
  partitioned: boolean;
  /** Upper bound of the constraint that allows the table to become a partition; null if there is no constraint. */
  ends: string | null;
  valid: boolean;
  last: string;
  of_a_day: string;
}

/**
 * Turns the existing, unpartitioned events table into the first partition, without moving rows: it adds a constraint,
 * validates it without blocking reads and writes, then renames tables, which is quick. An interrupted process leaves a state
 * that the next one continues from. With several processes, only one works at a time.
 */
export async function partitionEvents(database: Database, signal: AbortSignal): Promise<void> {
  await inSteps(database, signal, partitionStep);
}

/** One step, in its own transaction. Returns false if nothing is left to do, or another process is doing it. */
export async function partitionStep(tx: Tx): Promise<boolean> {
  if (!(await isMyStep(tx, LOCK))) return false;
  const { rows } = await tx.execute<State>(sql`
    select events_end() is not null as partitioned, s.last, c.ends, c.valid,
      s.last - coalesce((select e.seq from events e where e.occurred_at > now() - interval '1 day' order by e.occurred_at limit 1), s.last) as of_a_day
    from event_sequence s left join lateral (
      select substring(pg_get_constraintdef(oid) from '[0-9]+')::bigint as ends, convalidated as valid
      from pg_constraint where conrelid = 'events'::regclass and conname = 'events_end') c on true`);
  const state = rows[0];
  if (state === undefined || state.partitioned) return false;
  const last = Number(state.last);
  await waitBriefly(tx, STEP_WAIT_MS);
  if (state.ends === null || Number(state.ends) < last + STEP) {
    const room = Math.max(ROOM, 5 * Number(state.of_a_day));
    const ends = Math.ceil((last + room) / STEP) * STEP;
    await tx.execute(sql`alter table events drop constraint if exists events_end`);
    await tx.execute(
      sql`alter table events add constraint events_end check (seq < ${sql.raw(String(ends))}) not valid`,
    );
  } else if (state.valid) {
    await tx.execute(sql`select partition_events(${Number(state.ends)})`);
    return false;
  } else {
    await takeTime(tx);
    await tx.execute(sql`alter table events validate constraint events_end`);
  }
  return true;
}
