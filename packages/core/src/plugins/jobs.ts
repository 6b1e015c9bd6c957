import { schema, storedNow, type Tx } from '@acp/db';
import { and, eq, type SQL, sql } from 'drizzle-orm';
import { databaseNow, nextRun } from './register.ts';

const { plugin_job_runs, plugin_jobs } = schema;

/** A job to run now. */
export interface DueJob {
  run_id: string;
  plugin_id: string;
  fence: number;
  name: string;
  config: Record<string, unknown> | null;
  scheduled_at: Date;
}

const BATCH = 50;

/**
 * Claims due jobs of a scheduler's running plugins. A job runs once, however many ticks were missed.
 * @param in_progress the runs that the scheduler has not reported the end of
 */
export async function takeDueJobs(
  tx: Tx,
  held_by: string,
  in_progress: readonly string[],
): Promise<DueJob[]> {
  const { rows } = await tx.execute<{
    plugin_id: string;
    fence: string;
    name: string;
    schedule: string;
    config: Record<string, unknown> | null;
    scheduled_at: string;
  }>(sql`
    select j.plugin_id, p.fence, j.name, j.schedule, j.config, j.next_run_at as scheduled_at
    from plugin_jobs j join plugins p on p.id = j.plugin_id
    where p.held_by = ${held_by} and p.state = 'running' and j.next_run_at <= ${storedNow}
    order by j.next_run_at limit ${BATCH} for no key update of j skip locked`);
  if (rows.length === 0) return [];
  const now = await databaseNow(tx);
  const next = rows.map(({ plugin_id, name, schedule }) => ({
    plugin_id,
    name,
    next_run_at: nextRun(schedule, now),
  }));
  await tx.execute(sql`
    update plugin_jobs j set next_run_at = n.next_run_at
    from jsonb_to_recordset(${JSON.stringify(next)}::jsonb) as n(plugin_id uuid, name text, next_run_at timestamptz)
    where j.plugin_id = n.plugin_id and j.name = n.name`);
  // Begun by a commit whose answer was lost: nobody has asked the plugin, and nothing else would end them.
  await failRuns(
    tx,
    sql`(${plugin_job_runs.plugin_id}, ${plugin_job_runs.job_name}) in (
        select n.plugin_id, n.name from jsonb_to_recordset(${JSON.stringify(next)}::jsonb) as n(plugin_id uuid, name text))
      and ${plugin_job_runs.id} <> all(${sql.param(in_progress)}::uuid[])`,
  );
  // A tick is skipped while the job's previous run is still in progress.
  const { rows: begun } = await tx.execute<{ id: string; plugin_id: string; job_name: string }>(sql`
    insert into plugin_job_runs (plugin_id, job_name, scheduled_at, fence)
    select d.plugin_id, d.name, d.scheduled_at, d.fence
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as d(plugin_id uuid, name text, scheduled_at timestamptz, fence bigint)
    where not exists (select from plugin_job_runs r
      where r.plugin_id = d.plugin_id and r.job_name = d.name and r.status = 'running')
    returning id, plugin_id, job_name`);
  return rows.flatMap(({ plugin_id, name, config, fence, scheduled_at }) => {
    const run = begun.find((each) => each.plugin_id === plugin_id && each.job_name === name);
    if (run === undefined) return [];
    const due = { run_id: run.id, plugin_id, fence: Number(fence), name, config };
    return [{ ...due, scheduled_at: new Date(scheduled_at) }];
  });
}

export async function endJobRun(
  tx: Tx,
  run_id: string,
  outcome: { status: 'succeeded'; result: unknown } | { status: 'failed'; error: string },
): Promise<void> {
  await tx
    .update(plugin_job_runs)
    .set({ ...outcome, finished_at: sql`now()` })
    .where(and(eq(plugin_job_runs.id, run_id), eq(plugin_job_runs.status, 'running')));
}

/** Fails runs of the plugin's processes up to that fence, which are gone and can no longer report a result. */
export async function failLostJobRuns(tx: Tx, plugin_id: string, fence: number): Promise<void> {
  await failRuns(
    tx,
    sql`${plugin_job_runs.plugin_id} = ${plugin_id} and ${plugin_job_runs.fence} <= ${fence}`,
  );
}

async function failRuns(tx: Tx, which: SQL): Promise<void> {
  await tx
    .update(plugin_job_runs)
    .set({ status: 'failed', error: 'the process ended before it answered', finished_at: sql`now()` })
    .where(and(eq(plugin_job_runs.status, 'running'), which));
}

/** Keeps the newest hundred runs of each job. @returns number of rows deleted */
export async function deleteOldJobRuns(tx: Tx, limit: number): Promise<number> {
  const { rowCount } = await tx.execute(sql`
    delete from plugin_job_runs where id in (
      select id from (
        select id, row_number() over (partition by plugin_id, job_name order by started_at desc) as place
        from plugin_job_runs
      ) r where place > 100 limit ${limit}
    )`);
  return rowCount ?? 0;
}

export async function jobsOf(tx: Tx, plugin_id: string) {
  return tx.select().from(plugin_jobs).where(eq(plugin_jobs.plugin_id, plugin_id)).orderBy(plugin_jobs.name);
}
