import { sql } from 'drizzle-orm';
import { isMyStep } from './partition-steps.ts';
import type { Database } from './pool.ts';
import { transaction } from './transaction.ts';
import type { Tx } from './tx.ts';

/** Any number that no other lock has. */
const LOCK = 7_236_125_402;
const STEP = 100_000;
/** So many numbers are left for what comes while the rows are looked through, at least. */
const ROOM = 10 * STEP;

interface State extends Record<string, unknown> {
  partitioned: boolean;
  /** What the constraint says that makes the rows a partition; null: it is not there. */
  ends: string | null;
  valid: boolean;
  last: string;
  of_a_day: string;
}

/**
 * Makes the events of an instance that had some before they were partitioned the first partition. No row is moved: a constraint is
 * put on the table, the rows are looked through while everybody reads and writes on, and names are changed in a moment. A
 * process that ends half-way leaves what the next one goes on from; of several one does it.
 */
export async function partitionEvents(database: Database, signal: AbortSignal): Promise<void> {
  let more = true;
  while (more && !signal.aborted) more = await transaction(database, async (tx) => partitionStep(tx));
}

/** One step, in a transaction of its own. False: there is nothing left to do, or another process is at it. */
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
  // Whoever waits for the table lets nobody else at it: rather not now.
  await tx.execute(sql`set local lock_timeout = '2s'`);
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
    await tx.execute(sql`set local statement_timeout = 0`);
    await tx.execute(sql`alter table events validate constraint events_end`);
  }
  return true;
}
