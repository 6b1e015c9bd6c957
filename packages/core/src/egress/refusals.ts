import type { EgressDoor, EgressRefusal } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { asc, desc, eq, sql } from 'drizzle-orm';

const { egress_refusals } = schema;

/** Maximum number of rows per company besides those of its runs, and per run: a program may request any number of names. */
const [MOST_WITHOUT_RUN, MOST_OF_RUN] = [200, 50];
const SHOWN = 50;
const NAME_LENGTH = 253;

/** A refused place, totalled over all runs and plugins of a company. */
export interface RefusedPlace {
  host: string;
  port: number;
  times: number;
  doors: EgressDoor[];
  last_at: Date;
  /** The latest run that requested it, if any. */
  run_id: string | null;
}

/**
 * Counts refused connections. The number of places is limited per run, and per company for those that no run requested.
 * @param run_id null: not requested by a run
 */
export async function recordRefusals(
  tx: Tx,
  { company_id, run_id }: { company_id: string; run_id: string | null },
  refusals: readonly EgressRefusal[],
): Promise<void> {
  if (refusals.length === 0) return;
  const subject_id = run_id ?? company_id;
  const rows = refusals.map(({ host, ...rest }) => ({ ...rest, host: host.slice(0, NAME_LENGTH) }));
  await tx.execute(sql`
    insert into egress_refusals as kept (company_id, subject_id, host, port, door, times)
    select ${company_id}, ${subject_id}, host, port, min(door), least(sum(times), 2000000000)
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(host text, port int, door text, times int)
    where (select count(*) from egress_refusals where subject_id = ${subject_id}) < ${run_id === null ? MOST_WITHOUT_RUN : MOST_OF_RUN}
      or exists (select from egress_refusals e where e.subject_id = ${subject_id} and e.host = r.host and e.port = r.port)
    group by host, port order by host, port
    on conflict (subject_id, host, port) do update set
      times = least(kept.times::bigint + excluded.times, 2000000000)::int, last_at = now()`);
}

/** Places refused to one run, most requested first. */
export async function runRefusals(tx: Tx, run_id: string): Promise<EgressRefusal[]> {
  const rows = await tx
    .select({
      host: egress_refusals.host,
      port: egress_refusals.port,
      times: egress_refusals.times,
      door: egress_refusals.door,
    })
    .from(egress_refusals)
    .where(eq(egress_refusals.subject_id, run_id))
    .orderBy(desc(egress_refusals.times), asc(egress_refusals.host), asc(egress_refusals.port));
  return rows as EgressRefusal[];
}

/** Places recently refused to a company, latest first. */
export async function listRefusals(tx: Tx, company_id: string): Promise<RefusedPlace[]> {
  const { rows } = await tx.execute<Omit<RefusedPlace, 'last_at'> & { last_at: string }>(sql`
    select host, port, least(sum(times), 2000000000)::int as times, array_agg(distinct door) as doors, max(last_at) as last_at,
      (array_agg(subject_id order by last_at desc) filter (where subject_id <> company_id))[1] as run_id
    from (select * from egress_refusals where company_id = ${company_id} order by last_at desc limit 1000) as late
    group by host, port order by max(last_at) desc, host limit ${SHOWN}`);
  return rows.map((row) => ({ ...row, last_at: new Date(row.last_at) }));
}

/** Deletes refusals older than `days`. @returns number deleted, at most `limit` */
export async function deleteRefusalsBefore(tx: Tx, days: number, limit: number): Promise<number> {
  const result = await tx.execute(sql`
    delete from egress_refusals where ctid in (
      select ctid from egress_refusals where last_at < now() - make_interval(days => ${days})
      order by last_at limit ${limit})`);
  return result.rowCount ?? 0;
}
