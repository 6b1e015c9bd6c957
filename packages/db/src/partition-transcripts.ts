import { sql } from 'drizzle-orm';
import { inSteps, isMyStep } from './partition-steps.ts';
import type { Database } from './pool.ts';
import type { Tx } from './tx.ts';

/** Any number that no other lock has. */
const LOCK = 7_236_125_403;

interface State extends Record<string, unknown> {
  partitioned: boolean;
  /** The release before has had its time: it names a key, at each entry, that no longer is one of the whole. */
  ripe: boolean;
  /** Whether the constraint holds that makes the rows a partition; null: it is not there. */
  valid: boolean | null;
}

/**
 * Makes the transcripts of an instance that had some before they were partitioned the first partition, a day after the migration.
 * No row is moved: a constraint is put on the table, the rows are looked through while everybody reads and writes on, and names are
 * changed in a moment. A process that ends half-way leaves what the next one goes on from; of several one does it.
 */
export async function partitionTranscripts(database: Database, signal: AbortSignal): Promise<void> {
  await inSteps(database, signal, partitionTranscriptStep);
}

/** One step, in a transaction of its own. False: there is nothing to do now, or another process is at it. */
export async function partitionTranscriptStep(tx: Tx): Promise<boolean> {
  if (!(await isMyStep(tx, LOCK))) return false;
  const { rows } = await tx.execute<State>(sql`
    select are_run_events_partitioned() as partitioned, min(began_at) < now() - interval '1 day' as ripe,
      (select convalidated from pg_constraint where conrelid = 'run_events'::regclass and conname = 'run_events_part') as valid
    from transcript_parts`);
  const state = rows[0];
  if (state === undefined || state.partitioned || !state.ripe) return false;
  // Whoever waits for the table lets nobody else at it: rather not now.
  await tx.execute(sql`set local lock_timeout = '2s'`);
  if (state.valid === null) {
    await tx.execute(sql`alter table run_events add constraint run_events_part check (part = 0) not valid`);
  } else if (state.valid) {
    // Others may hold one of its two tables and wait for the other: it gives way before the database would end one of them.
    await tx.execute(sql`set local lock_timeout = '200ms'`);
    await tx.execute(sql`select partition_run_events()`);
    return false;
  } else {
    await tx.execute(sql`set local statement_timeout = 0`);
    await tx.execute(sql`alter table run_events validate constraint run_events_part`);
  }
  return true;
}
