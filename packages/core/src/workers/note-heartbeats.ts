import { WORKER_OFFLINE_SEC } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { workerChanges } from './worker-changes.ts';

const fleet = systemActor('fleet');

export interface WorkerBeat {
  worker_id: string;
  /** Tasks that the worker lists as running; null if it sent no list. */
  running: readonly string[] | null;
}

/**
 * Records the heartbeats of many workers, each at most once, in two statements. The admins' pages are notified of workers that
 * were offline. Lock order: workers before their tasks, both by id.
 */
export async function noteHeartbeats(tx: Tx, beats: readonly WorkerBeat[]): Promise<void> {
  const { rows } = await tx.execute<{ id: string; came: boolean }>(sql`
    with beat as (select * from jsonb_to_recordset(${JSON.stringify(beats)}::jsonb) as b(worker_id uuid)),
    was as materialized (
      select w.id, w.online from workers w where w.id in (select worker_id from beat) order by w.id for no key update
    )
    update workers w set last_seen_at = clock_timestamp(), online = true
    from was where w.id = was.id
    returning w.id, not was.online as came`);
  const listed = beats.filter(({ running }) => running !== null);
  if (listed.length > 0) await noteRunning(tx, listed);
  const came = rows.filter((row) => row.came).map(({ id }) => id);
  await recordChanges(tx, fleet, await workerChanges(tx, came));
}

/** A claim that its worker does not list is missing from now on; one that is listed again no longer is. */
async function noteRunning(tx: Tx, beats: readonly WorkerBeat[]): Promise<void> {
  await tx.execute(sql`
    with changed as materialized (
      select t.id, jsonb_exists(b.running, t.id::text) as listed
      from jsonb_to_recordset(${JSON.stringify(beats)}::jsonb) as b(worker_id uuid, running jsonb)
      join remote_tasks t on t.worker_id = b.worker_id
      where t.status in ('claimed', 'cancel_requested')
        and jsonb_exists(b.running, t.id::text) = (t.missing_since is not null)
      order by t.id for update of t
    )
    update remote_tasks t set missing_since = case when changed.listed then null else clock_timestamp() end
    from changed where t.id = changed.id`);
}

const BATCH = 200;

/** Reports workers whose heartbeats have stopped, each once. @returns how many, at most 200 */
export async function noteOffline(tx: Tx): Promise<number> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    with gone as materialized (
      select w.id from workers w
      where w.online and w.last_seen_at < now() - make_interval(secs => ${WORKER_OFFLINE_SEC})
      order by w.id limit ${BATCH} for no key update skip locked
    )
    update workers w set online = false from gone where w.id = gone.id returning w.id`);
  const ids = rows.map(({ id }) => id);
  await recordChanges(tx, fleet, await workerChanges(tx, ids));
  return ids.length;
}

/** How long an unapproved worker is kept: anyone who can reach the service can register. */
const UNAPPROVED_DAYS = 7;

/** Deletes workers that registered, were never approved and have not been seen for a week. */
export async function deleteUnapprovedWorkers(tx: Tx): Promise<number> {
  const { rowCount } = await tx.execute(sql`
    delete from workers where status = 'pending_approval'
      and greatest(created_at, last_seen_at) < now() - make_interval(days => ${UNAPPROVED_DAYS})`);
  return rowCount ?? 0;
}
