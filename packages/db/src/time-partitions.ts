/**
 * Tables that are cut into quarters of a year, and kept for ever unless somebody decides otherwise. The last partition takes all that
 * comes, and is ended while it is still empty: a timer that comes late costs nothing but a partition that is longer.
 */
import { type SQL, sql } from 'drizzle-orm';
import { inSteps, isMyStep } from './partition-steps.ts';
import type { Database } from './pool.ts';
import { takeTime } from './transaction.ts';
import type { Tx } from './tx.ts';
import { waitBriefly } from './wait-briefly.ts';

/** By the instant that their rows are cut by. */
const timedTables = { activity: 'created_at', cost_events: 'occurred_at' } as const;
export type TimedTable = keyof typeof timedTables;

/** Any number that no other lock has. */
const LOCK = 7_236_125_404;

const isPartitioned = (table: TimedTable): SQL =>
  sql`(select relkind = 'p' from pg_class where oid = ${table}::regclass)`;

interface State extends Record<string, unknown> {
  partitioned: boolean;
  /** What the constraint says that makes the rows a partition; null: it is not there, or its time is near. */
  ends: string | null;
  valid: boolean;
}

/**
 * Makes what an instance had before the tables were partitioned the first partition. No row is moved: a constraint is put on the
 * table, the rows are looked through while everybody reads and writes on, and names are changed in a moment.
 */
export async function partitionByTime(
  database: Database,
  table: TimedTable,
  signal: AbortSignal,
): Promise<void> {
  await inSteps(database, signal, async (tx) => partitionByTimeStep(tx, table));
}

/** One step, in a transaction of its own. False: there is nothing left to do, or another process is at it. */
export async function partitionByTimeStep(tx: Tx, table: TimedTable): Promise<boolean> {
  if (!(await isMyStep(tx, LOCK))) return false;
  const name = `${table}_ends`;
  const { rows } = await tx.execute<State>(sql`
    select ${isPartitioned(table)} as partitioned, c.ends, c.valid
    from (values (1)) as one left join lateral (
      select substring(pg_get_constraintdef(oid) from '''([^'']+)''')::timestamptz::text as ends, convalidated as valid
      from pg_constraint where conrelid = ${table}::regclass and conname = ${name}) c
    on c.ends::timestamptz > now() + interval '1 month'`);
  const state = rows[0];
  if (state === undefined || state.partitioned) return false;
  await waitBriefly(tx);
  const whole = sql.identifier(table);
  const constraint = sql.identifier(name);
  if (state.ends === null) {
    const { rows: instants } = await tx.execute<{ ends: string }>(
      sql`select next_quarter(now() + interval '3 months')::text as ends`,
    );
    const ends = sql.raw(`'${instants[0]!.ends}'`);
    await tx.execute(sql`alter table ${whole} drop constraint if exists ${constraint}`);
    await tx.execute(
      sql`alter table ${whole} add constraint ${constraint} check (${sql.identifier(timedTables[table])} < ${ends}) not valid`,
    );
  } else if (state.valid) {
    await tx.execute(
      sql`select partition_by_time(${table}, ${timedTables[table]}, ${state.ends}::timestamptz)`,
    );
    return false;
  } else {
    await takeTime(tx);
    await tx.execute(sql`alter table ${whole} validate constraint ${constraint}`);
  }
  return true;
}

/**
 * Ends the last partition, a month before anything may come into it. Where somebody has been reading for long, a backup for one, it
 * throws `unavailable`, and there is time for the next try.
 */
export async function endTimePartition(tx: Tx, table: TimedTable): Promise<boolean> {
  const { rows } = await tx.execute<{ due: boolean }>(sql`
    select ${isPartitioned(table)} and exists (select from time_partitions(${table}::regclass)
      where ends is null and begins < now() + interval '1 month') as due`);
  if (rows[0]?.due !== true) return false;
  await waitBriefly(tx);
  await tx.execute(sql`select end_time_partition(${table})`);
  return true;
}

/** Drops the oldest partition once all of it is older than `days`. As above, it waits for nobody for long. @returns false: it is not */
export async function dropExpiredPartition(tx: Tx, table: TimedTable, days: number): Promise<boolean> {
  const { rows } = await tx.execute<{ part: string }>(sql`
    select part from time_partitions(${table}::regclass)
    where ${isPartitioned(table)} and ends < now() - make_interval(days => ${days}) order by ends limit 1`);
  const part = rows[0]?.part;
  if (part === undefined) return false;
  await waitBriefly(tx);
  await tx.execute(sql`drop table ${sql.identifier(part)}`);
  return true;
}
