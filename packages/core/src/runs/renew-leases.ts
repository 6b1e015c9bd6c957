import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import type { LeaseRenewal, RunLease } from './types.ts';

/**
 * Extends the leases that the process still owns, by the database's clock, in one statement for all its runs. An expired but
 * unswept lease is extended, too: only a sweep ends a run's right to write, so a database outage longer than a lease costs no
 * runs. Also reads what the runs' agents may do by now: a permission that is withdrawn ends for runs in progress, too.
 */
export async function renewLeases(
  tx: Tx,
  claimed_by: string,
  leases: readonly Pick<RunLease, 'run_id' | 'fence'>[],
  lease_sec: number,
): Promise<LeaseRenewal> {
  if (leases.length === 0) return { held: [], lost: [] };
  const named = leases.map(({ run_id, fence }) => ({ run_id, fence }));
  // Locked in id order: two statements over the same rows can't deadlock.
  const { rows } = await tx.execute<{
    run_id: string;
    cancel_requested: boolean;
    permissions: Record<string, boolean> | null;
  }>(sql`
    with lease as materialized (
      select r.id from heartbeat_runs r
      join jsonb_to_recordset(${JSON.stringify(named)}::jsonb) as l(run_id uuid, fence bigint)
        on r.id = l.run_id and r.fence = l.fence
      where r.status = 'running' and r.claimed_by = ${claimed_by}
      order by r.id for no key update of r
    )
    update heartbeat_runs r set lease_expires_at = clock_timestamp() + make_interval(secs => ${lease_sec})
    from lease where r.id = lease.id
    returning r.id as run_id, r.cancel_requested_at is not null as cancel_requested,
      (select a.permissions from agents a where a.id = r.agent_id) as permissions`);
  const held = new Set(rows.map(({ run_id }) => run_id));
  return { held: rows, lost: named.map(({ run_id }) => run_id).filter((id) => !held.has(id)) };
}
