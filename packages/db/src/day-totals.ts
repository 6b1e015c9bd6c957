/**
 * Totals per day (`cost_days`, `run_days`), to which triggers add a row for each cost event and each run that ends (ADR 58). Days before
 * `complete_from` lack what came before those triggers, until a scheduler totals them. Triggers of `cost_days` in turn keep
 * `cost_day_sums`: what follows changes these with the rows that it merges or replaces.
 */
import { type SQL, sql } from 'drizzle-orm';
import { isMyStep } from './partition-steps.ts';
import type { Database } from './pool.ts';
import { takeTime, transaction } from './transaction.ts';
import type { Tx } from './tx.ts';

type DayTotals = 'cost_days' | 'run_days';

/** Any number that no other lock has. */
const LOCK = 7_236_125_406;
/** After the day of the upgrade: no transaction that began in it is still under way. */
const SETTLED = sql`interval '1 hour'`;
/** How many totals are merged in one statement. */
const BATCH = 1000;

/** When a day (UTC, `date`) begins. */
export const startOfDay = (day: SQL): SQL => sql`(${day})::timestamp at time zone 'UTC'`;

/** The first day (UTC) of which the totals are complete, as a scalar subquery. */
export const completeFrom = (name: DayTotals): SQL =>
  sql`(select complete_from from day_totals where name = ${sql.raw(`'${name}'`)})`;

interface Definition {
  /** What a row is about, and its sums. */
  keys: SQL;
  sums: SQL;
  /** The sums of several rows. */
  merged: SQL;
  /** When a row `d` has the keys `k`: each in a form that an index serves, since a day may have ten thousands of them. */
  isSame: readonly SQL[];
  /** Keys and sums of what was there before an instant, from the events or runs themselves. */
  counted: (before: SQL) => SQL;
}

const definitions: Readonly<Record<DayTotals, Definition>> = {
  cost_days: {
    keys: sql`company_id, day, agent_id, project_id, model`,
    sums: sql`cost_usd, estimated_usd, input_tokens, output_tokens, runs`,
    merged: sql`sum(cost_usd), sum(estimated_usd), sum(input_tokens), sum(output_tokens), sum(runs)`,
    isSame: [sql`d.agent_id = k.agent_id`, sql`d.agent_id is null and k.agent_id is null`].map(
      (isAgent) => sql`d.company_id = k.company_id and d.day = k.day and ${isAgent}
        and d.project_id is not distinct from k.project_id and d.model = k.model`,
    ),
    counted: (before) => sql`
      select company_id, (occurred_at at time zone 'UTC')::date as day, agent_id, project_id, model, sum(cost_usd),
        sum(case when price_estimated then cost_usd else 0 end), sum(input_tokens), sum(output_tokens), count(run_id)
      from cost_events where occurred_at < ${before} group by company_id, 2, agent_id, project_id, model`,
  },
  run_days: {
    keys: sql`company_id, day`,
    sums: sql`runs, succeeded, failed`,
    merged: sql`sum(runs), sum(succeeded), sum(failed)`,
    isSame: [sql`d.company_id = k.company_id and d.day = k.day`],
    counted: (before) => sql`
      select company_id, (created_at at time zone 'UTC')::date as day, count(*), count(*) filter (where status = 'succeeded'),
        count(*) filter (where status = 'failed')
      from heartbeat_runs where created_at < ${before} and status not in ('queued', 'running') group by company_id, 2`,
  },
};

interface Due extends Record<string, unknown> {
  name: DayTotals;
  unmerged: boolean;
  /** Only an instance that was upgraded has days to complete. */
  incomplete: boolean;
}

/** Merges the rows that triggers have added, and completes the totals of older days once that is due. */
export async function mergeDayTotals(database: Database, signal: AbortSignal): Promise<void> {
  const { rows } = await database.db.execute<Due>(sql`
    select name, complete_from > '-infinity' and ${startOfDay(sql`complete_from`)} + ${SETTLED} < now() as incomplete,
      case name when 'cost_days' then exists (select from cost_days where not merged)
        else exists (select from run_days where not merged) end as unmerged
    from day_totals order by name`);
  for (const { name, unmerged, incomplete } of rows) {
    let merged = unmerged ? BATCH : 0;
    while (merged === BATCH && !signal.aborted)
      merged = await transaction(database, async (tx) => mergeSome(tx, name, BATCH));
    if (incomplete && !signal.aborted) await transaction(database, async (tx) => completeTotals(tx, name));
  }
}

/**
 * Keeps totals from being merged until the transaction ends: it may delete all rows of a company, and none may be written anew
 * meanwhile. A statement of its own, so that the next one sees what was merged last.
 */
export async function holdDayTotals(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCK})`);
}

/**
 * One row for each of so many totals that have more; none for a company that was purged while a row was being added. Nobody but a
 * purge waits for it, and to readers the sum is always the same.
 */
async function mergeSome(tx: Tx, name: DayTotals, batch: number): Promise<number> {
  if (!(await isMyStep(tx, LOCK))) return 0;
  const { keys, sums, merged, isSame } = definitions[name];
  const table = sql.identifier(name);
  const same = isSame.map((condition) => sql`select d.ctid from k join ${table} d on ${condition}`);
  const { rows } = await tx.execute<{ merged: number }>(sql`
    with k as materialized (select distinct ${keys} from ${table} where not merged limit ${batch}),
    parts as (delete from ${table} where ctid in (${sql.join(same, sql` union all `)}) returning *),
    whole as (
      insert into ${table} (${keys}, ${sums}, merged) select ${keys}, ${merged}, true from parts
      where exists (select from companies c where c.id = company_id) group by ${keys}
    )
    select count(*)::int as merged from k`);
  return rows[0]!.merged;
}

/**
 * Replaces the totals of older days by those of the rows themselves, seen in one snapshot: whatever is committed later has added, or
 * will add, a row of its own. The lock keeps others from merging such a row into one that is replaced.
 */
async function completeTotals(tx: Tx, name: DayTotals): Promise<void> {
  if (!(await isMyStep(tx, LOCK))) return;
  await takeTime(tx);
  const { keys, sums, counted } = definitions[name];
  const table = sql.identifier(name);
  const day = completeFrom(name);
  await tx.execute(sql`
    with incomplete as (delete from ${table} where day < ${day})
    insert into ${table} (${keys}, ${sums}, merged) select c.*, true from (${counted(startOfDay(day))}) c`);
  await tx.execute(sql`update day_totals set complete_from = '-infinity' where name = ${name}`);
}

/** Where the oldest cost events begin; null while none were dropped. */
const OLDEST_COST = sql`(select (begins at time zone 'UTC')::date from time_partitions('cost_events') order by begins nulls first limit 1)`;
/** Charts show two weeks of runs. */
const OLDEST_RUN = sql`(now() at time zone 'UTC')::date - 30`;

/** Deletes at most `batch` totals and sums of days whose cost events are gone. @returns how many; none while totals are being merged */
export const deleteCostTotals = async (database: Database, batch: number): Promise<number> =>
  unlessMerged(database, async (tx) => {
    const days = await deleteBefore(tx, 'cost_days', OLDEST_COST, batch);
    return days + (await deleteBefore(tx, 'cost_day_sums', OLDEST_COST, batch - days));
  });

/** Deletes at most `batch` rows of days that no chart shows. @returns how many; none while totals are being merged */
export const deleteRunTotals = async (database: Database, batch: number): Promise<number> =>
  unlessMerged(database, async (tx) => deleteBefore(tx, 'run_days', OLDEST_RUN, batch));

/** Under the lock of the merge: what is late is merged into old totals in another order than they are deleted in. */
const unlessMerged = async (database: Database, work: (tx: Tx) => Promise<number>): Promise<number> =>
  transaction(database, async (tx) => ((await isMyStep(tx, LOCK)) ? work(tx) : 0));

async function deleteBefore(
  tx: Tx,
  name: DayTotals | 'cost_day_sums',
  day: SQL,
  batch: number,
): Promise<number> {
  const table = sql.identifier(name);
  const { rowCount } = await tx.execute(
    sql`delete from ${table} where ctid in (select ctid from ${table} where day < ${day} limit ${batch})`,
  );
  return rowCount ?? 0;
}
