import { sql } from 'drizzle-orm';
import { inSteps, isMyStep, STEP_WAIT_MS } from './partition-steps.ts';
import type { Database } from './pool.ts';
import { takeTime } from './transaction.ts';
import type { Tx } from './tx.ts';
import { waitBriefly } from './wait-briefly.ts';

/** Advisory lock key, unique to this work. */
const LOCK = 7_236_125_403;

interface State extends Record<string, unknown> {
  partitioned: boolean;
  /** Whether a day has passed since the migration: the previous release uses a key that the partitioned table does not have. */
  ripe: boolean;
  /** Whether the constraint that allows the table to become a partition is validated; null if there is no constraint. */
  valid: boolean | null;
}

/**
 * Turns the existing, unpartitioned transcripts into the first partition, a day after the migration, without moving rows: it
 * adds a constraint, validates it without blocking reads and writes, then renames tables, which is quick. An interrupted
 * process leaves a state that the next one continues from. With several processes, only one works at a time.
 */
export async function partitionTranscripts(database: Database, signal: AbortSignal): Promise<void> {
  await inSteps(database, signal, partitionTranscriptStep);
}

/** One step, in its own transaction. Returns false if there is nothing to do now, or another process is doing it. */
export async function partitionTranscriptStep(tx: Tx): Promise<boolean> {
  if (!(await isMyStep(tx, LOCK))) return false;
  const { rows } = await tx.execute<State>(sql`
    select are_run_events_partitioned() as partitioned, min(began_at) < now() - interval '1 day' as ripe,
      (select convalidated from pg_constraint where conrelid = 'run_events'::regclass and conname = 'run_events_part') as valid
    from transcript_parts`);
  const state = rows[0];
  if (state === undefined || state.partitioned || !state.ripe) return false;
  await waitBriefly(tx, STEP_WAIT_MS);
  if (state.valid === null) {
    await tx.execute(sql`alter table run_events add constraint run_events_part check (part = 0) not valid`);
  } else if (state.valid) {
    // Another transaction may hold one of the two tables and wait for the other: give up before that becomes a deadlock.
    await waitBriefly(tx);
    await tx.execute(sql`select partition_run_events()`);
    return false;
  } else {
    await takeTime(tx);
    await tx.execute(sql`alter table run_events validate constraint run_events_part`);
  }
  return true;
}
